"""Ctrl-C and SIGTERM around what must not be broken off: a cluster's beginning and end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_TERMINATED = 128 + signal.SIGTERM


class _Unwinding:
    """Handles SIGTERM."""

    came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise SystemExit(_TERMINATED)


@contextmanager
def unwinding_sigterm() -> Iterator[None]:
    """While open, SIGTERM ends this process as Ctrl-C does, from inside out, with exit code 143.

    Outside of the main thread, and where somebody else handles the signal, nothing changes.
    """
    if not _in_main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    unwinding = _Unwinding()
    signal.signal(signal.SIGTERM, unwinding)
    try:
        yield
    except SystemExit as end:
        if unwinding.came:
            end.code = _TERMINATED  # Ray, where it is waited for, makes an exit of its own of it
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def held_signals() -> Iterator[Callable[[], bool]]:
    """While open, Ctrl-C and SIGTERM are only noted, however often they come, and what this gives
    says whether one was; the first one has its effect at the end. Exceptions as above.
    """
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        if number == signal.SIGTERM:
            signal.alarm(0)  # Ray, if it heard it first, would abort the process by this clock

    held: dict[int, Any] = {}
    if _in_main_thread():
        found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        usual = (signal.default_int_handler,)
        held = {n: by for n, by in found.items() if by in usual or isinstance(by, _Unwinding)}
    for number in held:
        signal.signal(number, note)
    try:
        yield lambda: bool(noted)
    finally:
        for number, usual_handler in reversed(held.items()):
            signal.signal(number, usual_handler)
        if noted:
            signal.raise_signal(noted[0])


def reclaim_sigterm() -> None:
    """Give SIGTERM back to who handles it in Python, from compiled code that took it."""
    handler = signal.getsignal(signal.SIGTERM)
    if _in_main_thread() and handler is not None:
        signal.signal(signal.SIGTERM, handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
