"""Personal data in text: one file per kind, and their registry in `kinds`."""
