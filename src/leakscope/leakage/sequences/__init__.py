"""The distinct sequences of S, with their features."""
