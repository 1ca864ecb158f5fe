"""How many threads a recurrent step is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 1 << 16
"""Rows times the square of the width, up to which two threads are no faster than one with nothing
else to do (docs/experiments.md). On a busy machine they then wait for each other at every step: a
hundred times as long as it takes."""


@contextmanager
def threads_for(rows: int, width: int) -> Iterator[None]:
    """One thread where a step of so many rows and units is small; otherwise all that there are."""
    threads = torch.get_num_threads()
    if threads == 1 or rows * width**2 > SMALL:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
