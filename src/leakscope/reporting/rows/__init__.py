"""The rows of a run's tables that are shown."""
