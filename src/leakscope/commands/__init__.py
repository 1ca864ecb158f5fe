"""The Python API: one file for each command, with a function of its name."""
