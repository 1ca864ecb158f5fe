"""What long work will cost, from a little of it."""
