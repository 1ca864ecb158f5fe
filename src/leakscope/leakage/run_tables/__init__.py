"""The tables that a run writes."""
