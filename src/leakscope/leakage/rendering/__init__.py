"""A finished run written again, redacted or revealed, without the model."""
