"""Patterns of personal data: kinds, numbers, places."""
