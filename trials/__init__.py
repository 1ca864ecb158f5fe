"""Trials: what odd input, evil files, kills and flipped bits do to leakscope, counted."""
