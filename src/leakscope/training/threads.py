"""Work of our own kernels on as many threads as torch has for its."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

import torch

T = TypeVar("T")
Run = Callable[[Callable[[T], None], Sequence[T]], None]
"""Calls a function on every piece."""


def in_turn(work: Callable[[T], None], pieces: Sequence[T]) -> None:
    """Call `work` on one piece after the other."""
    for piece in pieces:
        work(piece)


def in_threads(work: Callable[[T], None], pieces: Sequence[T]) -> None:
    """Call `work`, which lets go of the interpreter's lock, on every piece, in any order. An
    error is raised when no thread works any more; the other pieces may be done or not.
    """
    left = iter(pieces)  # of a sequence, so two threads never get the same piece

    def take() -> None:
        for piece in left:
            work(piece)

    # One task a thread: a task for each piece would wake the waiting caller each time.
    others = torch.get_num_threads() - 1
    tasks = [_pool(os.getpid(), others).submit(take) for _ in range(others)]
    try:
        take()
    finally:
        wait(tasks)
    for task in tasks:
        task.result()


@lru_cache(1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them costs more than many a piece. A child process has
    none of its parent's.
    """
    return ThreadPoolExecutor(threads, "leakscope")
