"""What one training step is made of."""
