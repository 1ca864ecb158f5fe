"""A process that takes the steps of a training together with the first one, and does as it says."""

import os
import signal
import struct
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Protocol

import torch

from leakscope.records.errors import LeakscopeError
from leakscope.training.distributed.gloo_ranks import is_lost, joined
from leakscope.training.distributed.rank_group import RankGroup

COMMAND = struct.Struct("<q")
"""What the first process sends: the number of the step to take, or one of these."""
BEGIN, DIGEST = -1, -2
"""All have met, so the task begins; the digest of the weights is asked for."""

HERE, READY, SAME, LOST, REFUSED, CRASHED = b"h", b"r", b"s", b"l", b"e", b"x"
"""What a follower sends: it has started; it stands where the first one does; the digest of its
weights; the others are gone; and, with its text, an error for the user or any other."""


class Steps(Protocol):
    """The steps of a training in one of its processes."""

    def take(self, step: int) -> object:
        """Take step number `step`, when all others do."""
        ...

    def digest(self) -> bytes:
        """That of the weights."""
        ...


class Task(Protocol):
    """What a follower is to do; it can be sent to another process."""

    def start(self, ranks: RankGroup) -> Steps:
        """Make everything ready for the first step."""
        ...


@dataclass(frozen=True)
class Place:
    """Where a process stands in the group."""

    store: Path
    """The file at which they meet."""
    rank: int
    size: int
    threads: int
    patience: float
    """Seconds after which a process that is not heard of counts as lost."""


def follow(task: Task, place: Place, line: Connection) -> None:
    """Run a follower until the first process closes the line or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides what Ctrl-C does
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(place.threads)
    with suppress(BrokenPipeError, ConnectionResetError):  # nobody listens any more
        line.send_bytes(HERE)
        try:
            with joined(place.store, place.rank, place.size, place.patience) as ranks:
                if _next(line) == BEGIN:
                    _serve(task.start(ranks), line)
        except LeakscopeError as error:
            line.send_bytes(REFUSED + str(error).encode())
        except MemoryError:
            line.send_bytes(REFUSED + b"Out of memory; give fewer --workers or a smaller model.")
        except Exception as error:
            lost = isinstance(error, RuntimeError) and is_lost(error)
            line.send_bytes(LOST if lost else CRASHED + traceback.format_exc().encode())


def _serve(steps: Steps, line: Connection) -> None:
    line.send_bytes(READY)
    while (command := _next(line)) is not None:
        if command == DIGEST:
            line.send_bytes(SAME + steps.digest())
        else:
            steps.take(command)


def _next(line: Connection) -> int | None:
    """The next command; None if the line is closed."""
    try:
        (command,) = COMMAND.unpack(line.recv_bytes())
    except EOFError:
        return None
    return int(command)


def _end_with_parent() -> None:
    """End this process when the one that has started it is gone, however it went."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
