"""How the command line shows progress: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leakscope.cli.printing import harmless, tell
from leakscope.cli.quantities import duration
from leakscope.engine.progress import WARNING, Progress, silent
from leakscope.engine.time_left import PlannedStage, TimeLeft

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

NOTES = (WARNING, "plan", "resume", "snapshot", "checkpoint")
"""Stages whose notes are worth a line of their own."""
EVERY = 5.0  # seconds between plain lines of one stage
FINE = 1_000_000  # parts that shares are told in


RESUMES = "what was finished is kept, and the same command goes on from it"
STARTS_OVER = "nothing is left behind, and the same command starts over"


class WorkInterruptedError(Exception):
    """Ctrl-C in the middle of long work; its text says what becomes of the work."""


@contextmanager
def shown(when_interrupted: str = RESUMES, *, quiet: bool = False) -> Iterator[Progress]:
    """Progress on standard error for as long as the block runs, unless it is to be quiet."""
    try:
        if quiet:
            yield silent
        elif sys.stderr.isatty():
            with _bars() as bars:
                yield _BarProgress(bars)
        else:
            yield _LineProgress()
    except KeyboardInterrupt:
        raise WorkInterruptedError(when_interrupted) from None


def _bars() -> "Bars":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )


class _BarProgress:
    """One bar a stage; notes of snapshots stay above the bars."""

    def __init__(self, bars: "Bars") -> None:
        self._bars = bars
        self._tasks: dict[str, int] = {}
        self._left = TimeLeft((), time.monotonic)

    def expect(self, stages: Sequence[PlannedStage]) -> None:
        """The stages that there will be, so that the time left is that of all."""
        self._left = TimeLeft(stages, time.monotonic)

    def within(self, stage: str, share: float) -> None:
        """See `TakesShares`."""
        self._left.told(stage, round(share * FINE), FINE)

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if _is_note(stage):
            self._bars.console.print(harmless(note), highlight=False, markup=False)
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, note=note)
        task = self._tasks[stage]
        self._left.told(stage, done, total)
        note = _with_time_left(note, self._left)
        self._bars.update(task, completed=done, total=total, note=note)  # type: ignore[arg-type]


class _LineProgress:
    """A line when a stage begins and ends, and every few seconds in between."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._left = TimeLeft((), time.monotonic)

    def expect(self, stages: Sequence[PlannedStage]) -> None:
        """The stages that there will be, so that the time left is that of all."""
        self._left = TimeLeft(stages, time.monotonic)

    def within(self, stage: str, share: float) -> None:
        """See `TakesShares`."""
        self._left.told(stage, round(share * FINE), FINE)

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        now = time.monotonic()
        self._left.told(stage, done, total)
        due = now - self._last.get(stage, -EVERY) >= EVERY
        if not (due or _is_note(stage) or (total is not None and done >= total)):
            return
        self._last[stage] = now
        of, note = "" if total is None else f"/{total}", _with_time_left(note, self._left)
        tell(f"{stage} {done}{of}{f': {note}' if note else ''}")


def _is_note(stage: str) -> bool:
    """Whether a stage is worth a line of its own: also a warning of a part, such as a snapshot's
    report, whose name comes first.
    """
    return stage in NOTES or stage.endswith(f" {WARNING}")


def _with_time_left(note: str, left: TimeLeft) -> str:
    """A stage's note, with how long all of the work still takes if that is known."""
    seconds = left.seconds()
    if seconds is None:
        return note
    return f"{note}{', ' if note else ''}{duration(seconds)} left in all"
