"""Flipped bits and cut files in everything that leakscope writes and reads again."""
