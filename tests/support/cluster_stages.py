"""Stages for clusters, whose workers must be able to import them."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class Squares:
    """Writes i squared, and a file beside it; what is odd about it is told by its fields. It leaves
    traces in `notes`: a file for each start and for each shard that was begun.
    """

    notes: Path
    loads_model: bool = False
    reads_outputs: bool = False
    dies: tuple[int, ...] = ()
    """Shards at which the first worker dies."""
    dies_always: int = -1
    fails: int = -1
    breaks: int = -1
    """Raises something unexpected, with a word that nobody may see."""
    seconds: float = 0.0
    table: np.ndarray | None = None
    name: str = "squares"

    def start(self):
        self._note("start")
        return self._work

    def _note(self, what: str) -> Path:
        note = self.notes / f"{what}-{os.getpid()}-{time.monotonic_ns()}"
        note.write_text("writable" if self.table is not None and self.table.flags.writeable else "")
        return note

    def _work(self, index: int, target: Path) -> None:
        before = len(list(self.notes.glob(f"shard{index}-*")))
        self._note(f"shard{index}")
        if index == self.dies_always or (index in self.dies and before == 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if index == self.fails:
            raise LeakscopeError("It cannot be squared.")
        if index == self.breaks:
            raise ValueError("zanthar")
        time.sleep(self.seconds)
        extra = 0 if self.table is None else int(self.table[index])
        target.with_name(target.name + ".seal").write_text("sealed")
        target.write_text(str(index * index + extra))
