"""How much memory this process and those that it started have taken at the most."""

import resource
import sys


def peak_memory(workers: int = 1) -> int:
    """In bytes, since it began. With several workers, all but one of them were processes of their
    own, which have ended: each counts as much as the largest.
    """
    here, there = (_told(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return here + (workers - 1) * there


def _told(who: int) -> int:
    told = resource.getrusage(who).ru_maxrss
    return told if sys.platform == "darwin" else told * 1024
