"""The beginning of some work, done in a folder that is thrown away, and timed stage by stage."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from leakscope.engine.private_scratch import private_scratch
from leakscope.engine.progress import Progress

Clock = Callable[[], float]
Work = Callable[[Path, Progress], object]
"""Does something into a path that is not there yet, and tells its progress."""
SET_UP = "set up"
"""What comes before the first stage."""
START = 1.5
"""Seconds to import what models run on, about; whoever forecasts has it imported already."""


@dataclass(frozen=True)
class SeenStage:
    """How far a stage came while it was watched."""

    seconds: float
    done: int
    """Since it was first heard of, in all of its rounds if it came several times."""
    total: int | None
    """Of the stage; None: it did not say."""


@dataclass(frozen=True)
class Rehearsal:
    """What was seen."""

    seconds: float
    finished: bool
    """Whether the work came to its end, and was not left."""
    stages: dict[str, SeenStage]
    """In the order in which they were first heard of; the first is `SET_UP`."""
    disk: int
    """Bytes that it took at the most, where a stage ended."""

    def seconds_of(self, stage: str) -> float:
        """Of a stage; 0: it never came."""
        return self.stages[stage].seconds if stage in self.stages else 0.0


class EnoughError(Exception):
    """Not an error: enough was seen."""


@dataclass
class Watch:
    """A `Progress` that times stages, and leaves the work after some seconds."""

    enough: float | None
    clock: Clock = time.perf_counter
    folder: Path | None = None
    """Whose size is watched."""
    disk: int = 0
    _times: dict[str, float] = field(default_factory=dict)
    _first: dict[str, int] = field(default_factory=dict)
    _last: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    _rounds: dict[str, int] = field(default_factory=dict)
    _at: str = SET_UP
    _told: float = 0.0
    _begin: float = 0.0

    def start(self) -> None:
        """The work begins now."""
        self._begin = self._told = self.clock()

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        """See `Progress`. Time goes to the stage that was worked on until now."""
        new = stage not in self._first
        self._pass(self._at if new and not done else stage)
        self._first.setdefault(stage, 0 if total is None else done)
        before = self._last.get(stage, (0, None))[0]
        if done < before:  # it begins again
            self._rounds[stage] = self._rounds.get(stage, 0) + before
        self._last[stage] = done, total
        self._at = stage
        if self.folder is not None and total is not None and done >= total:
            self.disk = max(self.disk, size_of(self.folder))
        if self.enough is not None and self._told - self._begin >= self.enough:
            raise EnoughError

    def seen(self, *, finished: bool) -> Rehearsal:
        """All of it."""
        self._pass(self._at)
        if self.folder is not None:
            self.disk = max(self.disk, size_of(self.folder))
        stages = {SET_UP: SeenStage(self._times.get(SET_UP, 0.0), 0, None)} | {
            name: SeenStage(
                self._times.get(name, 0.0),
                self._rounds.get(name, 0) + done - self._first[name],
                total,
            )
            for name, (done, total) in self._last.items()
        }
        return Rehearsal(self._told - self._begin, finished, stages, self.disk)

    def _pass(self, stage: str) -> None:
        now = self.clock()
        self._times[stage] = self._times.get(stage, 0.0) + now - self._told
        self._told = now


def rehearsed(
    work: Work, enough: float | None = None, clock: Clock = time.perf_counter
) -> Rehearsal:
    """Do some work for about so many seconds (None: all of it), and throw away what it made."""
    with rehearsal_folder() as folder:
        watch, finished = Watch(enough, clock, folder), False
        watch.start()
        with suppress(EnoughError):
            work(folder / "out", watch)
            finished = True
        return watch.seen(finished=finished)


@contextmanager
def rehearsal_folder() -> Iterator[Path]:
    """A private folder that is thrown away."""
    with private_scratch("leakscope-forecast") as folder:
        yield folder


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder; those that go meanwhile count for nothing."""
    found = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found += path.lstat().st_size if path.is_file() else 0
    return found
