"""A closer look at the unique sequences."""
