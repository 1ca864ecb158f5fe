"""How much memory this process has taken at the most."""

import resource
import sys


def peak_memory() -> int:
    """In bytes, since it began."""
    told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return told if sys.platform == "darwin" else told * 1024
