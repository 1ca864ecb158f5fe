"""How `corpus build` goes about it: parts on disk, made in parallel by compiled code."""
