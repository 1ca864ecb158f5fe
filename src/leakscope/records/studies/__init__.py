"""What studies write."""
