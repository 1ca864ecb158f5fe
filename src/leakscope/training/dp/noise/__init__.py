"""Gaussian noise that nobody can predict."""
