"""Kept work after one setting was changed."""
