"""When a command is killed: after a while, or right before or after a file reaches its place."""

import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MARK = f"{os.sep}leakscope{os.sep}"
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


def places_of(work: Callable[[], Any], file: int) -> Callable[[], Any]:
    """The same work; `file` gets a line for each call: the function, and where in leakscope it is
    called from.
    """

    def noted() -> Any:
        for name in BOUNDARIES:
            setattr(os, name, _placing(name, getattr(os, name), file))
        return work()

    return noted


def _placing(name: str, function: Callable[..., Any], file: int) -> Callable[..., Any]:
    def call(*given: Any, **options: Any) -> Any:
        frames = traceback.extract_stack()
        ours = [f"{frame.filename}:{frame.lineno}" for frame in frames if MARK in frame.filename]
        os.write(file, f"{name} {' '.join(ours)}\n".encode())
        return function(*given, **options)

    return call


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
