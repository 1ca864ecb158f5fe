"""Word-level models: networks of our own, their vocabulary and their directories."""
