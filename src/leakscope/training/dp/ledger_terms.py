"""The terms of a private training, which its ledger holds it to."""

from dataclasses import dataclass, replace

from leakscope.training.dp.factor_schedule import factor_at, factors_of
from leakscope.training.dp.protected_unit import Unit


@dataclass(frozen=True)
class Terms:
    """What must stay the same from step to step for its noise to be worth what is accounted."""

    text: str
    """Digest of what is trained on."""
    unit: Unit
    units: int
    """Users (or documents) of the training text."""
    rate: float
    noise_multiplier: float
    clip: float
    words_per_user: int
    insecure: bool
    """Whether noise and draws come from a seed."""
    noise_schedule: str | None = None
    """The factors on the noise multiplier, see `factor_schedule`."""
    clip_schedule: str | None = None
    rate_schedule: str | None = None

    def at(self, step: int) -> "Terms":
        """The terms of step number `step`, from 0: without schedules."""
        if self.noise_schedule is self.clip_schedule is self.rate_schedule is None:
            return self
        return replace(
            self,
            noise_multiplier=self.noise_multiplier * factor_at(self.noise_schedule, step),
            clip=self.clip * factor_at(self.clip_schedule, step),
            rate=self.rate * factor_at(self.rate_schedule, step),
            noise_schedule=None,
            clip_schedule=None,
            rate_schedule=None,
        )

    def changes(self) -> list[int]:
        """The numbers of the steps from which other terms hold than before, increasing."""
        schedules = (self.noise_schedule, self.clip_schedule, self.rate_schedule)
        return sorted({step for each in schedules for step, _ in factors_of(each)})
