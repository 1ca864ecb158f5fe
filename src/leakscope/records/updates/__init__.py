"""What is written about the update of a model."""
