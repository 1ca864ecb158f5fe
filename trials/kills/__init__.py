"""Kills and Ctrl-C at seeded moments: the same command, given again, ends as it would have."""
