"""When a command is killed: after a while, or right before or after a file reaches its place."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BOUNDARIES = ("fsync", "fdatasync", "replace", "unlink", "rmdir", "ftruncate", "mkdir")
"""Functions of `os` by which files become whole, take their places and go."""


@dataclass(frozen=True)
class Boundary:
    """The so many-th call of these functions, from 0; `after` it or before."""

    call: int
    after: bool


def killed_at(work: Callable[[], Any], boundary: Boundary) -> Callable[[], Any]:
    """The same work, which kills itself there."""

    def doomed() -> Any:
        _wrap(boundary)
        return work()

    return doomed


def counting(work: Callable[[], Any], counter: Any) -> Callable[[], Any]:
    """The same work; `counter` is a file that gets a byte for each call."""

    def counted() -> Any:
        for name in BOUNDARIES:
            setattr(os, name, _noting(getattr(os, name), counter))
        return work()

    return counted


def _noting(function: Callable[..., Any], counter: int) -> Callable[..., Any]:
    def call(*given: Any, **options: Any) -> Any:
        os.write(counter, b".")
        return function(*given, **options)

    return call


def _wrap(boundary: Boundary) -> None:
    seen = -1

    def dooming(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            here = seen == boundary.call
            if here and not boundary.after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return function(*given, **options)
            finally:
                if here:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in BOUNDARIES:
        setattr(os, name, dooming(getattr(os, name)))
