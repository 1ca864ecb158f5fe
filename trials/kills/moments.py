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
UPLOADS = ("write", "remove")
"""What does so to the files of a URL."""


@dataclass(frozen=True)
class Boundary:
    """The so many-th call of these functions, from 0; `after` it or before."""

    call: int
    after: bool


def killed_at(
    work: Callable[[], Any], boundary: Boundary, *, uploads: bool = False
) -> Callable[[], Any]:
    """The same work, which kills itself there; `uploads`: only calls of these are counted."""

    def doomed() -> Any:
        _wrap(boundary, uploads=uploads)
        return work()

    return doomed


def killed_once(work: Callable[[], Any], reached: Callable[[], bool]) -> Callable[[], Any]:
    """The same work, which kills itself after the first call by which that is reached."""

    def watching(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            value = function(*given, **options)
            if reached():
                os.kill(os.getpid(), signal.SIGKILL)
            return value

        return call

    def doomed() -> Any:
        _wrap_all(lambda name, function: watching(function))
        return work()

    return doomed


def counting(work: Callable[[], Any], counter: Any) -> Callable[[], Any]:
    """The same work; `counter` is a file that gets a byte for each call."""

    def counted() -> Any:
        _wrap_all(lambda name, function: _noting(function, counter))
        return work()

    return counted


def places_of(work: Callable[[], Any], file: int) -> Callable[[], Any]:
    """The same work; `file` gets a line for each call: the function, and where in leakscope it is
    called from.
    """

    def noted() -> Any:
        _wrap_all(lambda name, function: _placing(name, function, file))
        return work()

    return noted


def _wrap_all(wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put another function in the place of each of them."""
    from leakscope.storage.remote_store import RemoteStore

    for owner, names in ((os, BOUNDARIES), (RemoteStore, UPLOADS)):
        for name in names:
            setattr(owner, name, wrap(name, getattr(owner, name)))


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


def _wrap(boundary: Boundary, *, uploads: bool) -> None:
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

    _wrap_all(
        lambda name, function: function if uploads and name in BOUNDARIES else dooming(function)
    )
