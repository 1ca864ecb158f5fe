"""Kept work after one setting, or what an input holds, was changed."""
