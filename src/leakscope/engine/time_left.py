"""How long work still takes, over all of its stages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from leakscope.engine.progress import Progress

LEAST_SHARE, LEAST_SECONDS = 0.01, 3.0
"""Before so much is done, and so long has passed, nothing is said."""


@dataclass(frozen=True)
class PlannedStage:
    """A stage that is to come."""

    name: str
    weight: float
    """What it costs, in a unit that all stages of the plan share: only ratios matter."""


@runtime_checkable
class TakesPlans(Protocol):
    """A `Progress` that wants to know beforehand which stages there will be."""

    def expect(self, stages: Sequence[PlannedStage]) -> None:
        """These stages come, in this order, each perhaps several times."""
        ...


def expect(progress: Progress, stages: Sequence[PlannedStage]) -> None:
    """Tell whoever watches which stages there will be, if they want to know."""
    if isinstance(progress, TakesPlans):
        progress.expect(stages)


class TimeLeft:
    """Estimates, from how long the stages of a plan took so far, how long the rest will take."""

    def __init__(self, stages: Sequence[PlannedStage], clock: Callable[[], float]) -> None:
        self._weights, self._clock = [stage.weight for stage in stages], clock
        self._places: dict[str, list[int]] = {}
        for place, stage in enumerate(stages):
            self._places.setdefault(stage.name, []).append(place)
        self._shares: list[float | None] = [None] * len(stages)
        self._begin: float | None = None
        self._kept = 0.0

    def told(self, stage: str, done: int, total: int | None) -> None:
        """A stage is so far. One that begins again is the next of its name; what it has done when
        it is first heard of was kept from an earlier attempt.
        """
        if stage not in self._places or not total:
            return
        if self._begin is None:
            self._begin = self._clock()
        share = min(done / total, 1.0)
        place = self._place(stage, share)
        for earlier in range(place):  # passed over, or left without a word
            self._kept += (1.0 - (self._shares[earlier] or 0.0)) * self._weights[earlier]
            self._shares[earlier] = 1.0
        if self._shares[place] is None:
            self._kept += share * self._weights[place]
        self._shares[place] = share

    def seconds(self) -> float | None:
        """How long it still takes; None: it is too early to say."""
        if self._begin is None:
            return None
        pairs = zip(self._shares, self._weights, strict=True)
        done, total = sum((share or 0.0) * weight for share, weight in pairs), sum(self._weights)
        worked, passed = done - self._kept, self._clock() - self._begin
        if worked < LEAST_SHARE * (total - self._kept) or passed < LEAST_SECONDS:
            return None
        return (total - done) / worked * passed

    def _place(self, stage: str, share: float) -> int:
        """Which stage of the plan is meant: the last of its name that was heard of, or the next one
        if that was done and this is not.
        """
        places = self._places[stage]
        heard = [place for place in places if self._shares[place] is not None]
        if not heard:
            return places[0]
        again = self._shares[heard[-1]] == 1.0 and share < 1.0
        return places[len(heard)] if again and len(heard) < len(places) else heard[-1]
