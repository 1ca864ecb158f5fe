"""Disks that are full or cannot be written to."""
