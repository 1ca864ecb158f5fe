"""What is said of a run: numbers, their labels, meanings and formats."""
