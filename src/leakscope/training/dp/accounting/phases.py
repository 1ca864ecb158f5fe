"""A phase: steps of a private training under the same settings."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class Phase:
    """Steps that drew every user with the same probability and added the same noise."""

    noise_multiplier: float
    """Standard deviation of the noise, in units of the clip; may be infinite."""
    rate: float
    """Probability that a user (or document) takes part in a step."""
    steps: int

    def __post_init__(self) -> None:
        if not self.noise_multiplier >= 0:
            raise LeakscopeError("The noise multiplier must be at least 0.")
        if not 0 <= self.rate <= 1:
            raise LeakscopeError("The sampling rate must be between 0 and 1.")
        if self.steps < 0:
            raise LeakscopeError("The number of steps must be at least 0.")

    @property
    def spends(self) -> bool:
        """Whether anything can be learned from these steps at all."""
        return self.steps > 0 and self.rate > 0 and not math.isinf(self.noise_multiplier)


def merged(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """The same steps, those with the same noise and rate together, without phases of none."""
    totals: dict[tuple[float, float], int] = {}
    for phase in phases:
        key = (phase.noise_multiplier, phase.rate)
        totals[key] = totals.get(key, 0) + phase.steps
    return tuple(Phase(noise, rate, steps) for (noise, rate), steps in totals.items() if steps)
