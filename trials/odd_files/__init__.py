"""Odd and evil files: each is read rightly or refused in a sentence, and nothing of it is run."""
