"""User-level differential privacy."""
