"""What to do about a corpus, as a file that people and commands read."""
