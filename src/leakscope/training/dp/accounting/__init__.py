"""What a private training has spent."""
