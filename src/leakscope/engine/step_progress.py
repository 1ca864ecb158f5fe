"""The progress of work that is made of steps, each of which has stages of its own."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from leakscope.engine.progress import Progress


@runtime_checkable
class TakesShares(Protocol):
    """A `Progress` with a plan whose stages are whole steps, which have no bar of their own."""

    def within(self, stage: str, share: float) -> None:
        """So much of a planned stage is done."""
        ...


class StepProgress:
    """Hands on what the stages of steps tell. Of their plans nothing is handed on, since the plan
    of the whole work stands: it is told how far each step is.
    """

    def __init__(self, progress: Progress, longest: Collection[str] = ()) -> None:
        """`longest`: stages that take nearly all of the step that they are in."""
        self._progress, self._longest = progress, longest
        self._step, self._heard = "", False

    def begin(self, step: str) -> None:
        """A step of the plan is next; if no stage of it tells anything, it was kept."""
        self._step, self._heard = step, False

    def end(self) -> None:
        """It is done."""
        self._tell(1.0)
        self._step = ""

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        """See `Progress`."""
        if self._step and total and stage in self._longest:
            self._tell(done / total)
        elif self._step and not self._heard:
            self._tell(0.0)
        self._progress(stage, done, total, note)

    def _tell(self, share: float) -> None:
        self._heard = True
        if isinstance(self._progress, TakesShares):
            self._progress.within(self._step, share)
