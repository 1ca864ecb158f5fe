"""Letters: the charsets that they are written in, and who sent them."""
