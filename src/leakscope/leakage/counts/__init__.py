"""Counting sequences in D."""
