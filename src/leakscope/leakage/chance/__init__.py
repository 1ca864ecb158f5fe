"""What comes out of a model without memory, and which sequences are more than that."""
