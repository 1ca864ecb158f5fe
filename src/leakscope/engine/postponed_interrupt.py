"""Ctrl-C that waits until work is whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def postponed_interrupt() -> Iterator[Callable[[], bool]]:
    """While open, the first Ctrl-C is only noted, and what this gives says whether one was; the
    second one interrupts at once. Whoever notes one must raise `KeyboardInterrupt`.

    Outside of the main thread, and where somebody else handles the signal, nothing changes.
    """
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        noted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
