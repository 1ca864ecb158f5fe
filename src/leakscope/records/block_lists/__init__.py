"""Block lists: n-grams that an interface must not say, and their file."""
