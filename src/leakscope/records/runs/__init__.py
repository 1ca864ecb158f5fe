"""A run's manifest and metrics, what it was asked, and the columns of its tables."""
