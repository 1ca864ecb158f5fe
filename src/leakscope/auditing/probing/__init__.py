"""What a model suggests after a prefix, in words or in tokens."""
