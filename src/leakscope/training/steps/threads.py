"""Work of our own kernels on as many threads as torch has for its."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

import torch

T = TypeVar("T")
PieceRunner = Callable[[Callable[[T], None], list[T]], None]
"""Calls a function on every piece."""


def in_turn(work: Callable[[T], None], pieces: list[T]) -> None:
    """Call `work` on one piece after the other."""
    for piece in pieces:
        work(piece)


def in_threads(work: Callable[[T], None], pieces: list[T]) -> None:
    """Call `work`, which lets go of the interpreter's lock, on every piece, in any order. After an
    error or an interrupt no further piece is begun, and it is raised when no thread works any more.
    """
    left = iter(pieces)  # of a list, so two threads never get the same piece

    def take() -> None:
        try:
            for piece in left:
                work(piece)
        except BaseException:
            for _ in left:  # the others are to stop
                pass
            raise

    # One task a thread: a task for each piece would wake the waiting caller each time.
    others = torch.get_num_threads() - 1
    tasks: list[Future[None]] = []
    try:
        for _ in range(others):
            tasks.append(_pool(os.getpid(), others).submit(take))
        take()
    finally:
        # Nothing is left for those that have not begun, who may stand behind this very call.
        begun = [task for task in tasks if not task.cancel()]
        wait(begun)
    for task in begun:
        task.result()


@lru_cache(1)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads that are kept: starting them costs more than many a piece. A child process has
    none of its parent's.
    """
    return ThreadPoolExecutor(threads, "leakscope")
