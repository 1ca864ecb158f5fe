"""Records: what the stages hand to each other, and how it is written to disk."""
