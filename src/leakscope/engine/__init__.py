"""The engine: one map over shards, in this process or on several."""
