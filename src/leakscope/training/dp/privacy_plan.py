"""A private training as it will be run: rate, noise, delta, and where its snapshots fall."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leakscope.records.models.dp_record import GaussianValue, PrivacyRecord, SpentSteps
from leakscope.training.dp.accounting.accountant import (
    accountant_name,
    check_delta,
    default_delta,
    spent,
    steps_at,
)
from leakscope.training.dp.accounting.calibration import calibrate
from leakscope.training.dp.accounting.gaussian_dp import UNDER_REPORTS, epsilon_of, mu_of
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import Terms
from leakscope.training.dp.protected_unit import Unit
from leakscope.training.dp.schedule import Schedule, scheduled


@dataclass(frozen=True)
class PrivacyPlan:
    """Settings made definite for a training text with so many units."""

    unit: Unit
    units: int
    rate: float
    words_per_user: int
    clip: float
    noise_multiplier: float
    delta: float
    target_epsilon: float | None
    snapshot_at_epsilon: tuple[float, ...]
    insecure: bool

    @property
    def denominator(self) -> float:
        """What the noisy sum of a step is divided by: the expected number of units, a figure of
        the settings and never of a draw.
        """
        return self.rate * self.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each value of the clipped sum, before division."""
        return self.noise_multiplier * self.clip

    def terms(self, text: str) -> Terms:
        """What the ledger holds a resumed training to; `text`: digest of what is trained on."""
        return Terms(
            text,
            self.unit,
            self.units,
            self.rate,
            self.noise_multiplier,
            self.clip,
            self.words_per_user,
            self.insecure,
        )

    def steps_left(self, epsilon: float, before: Sequence[Phase], limit: int) -> int:
        """How many more steps after `before` stay within an epsilon, at most `limit`."""
        return steps_at(
            epsilon, self.noise_multiplier, self.rate, self.delta, before=before, limit=limit
        )

    def schedule(self, before: Sequence[Phase], done: int, asked: int) -> Schedule:
        """Where a training of `asked` steps ends that has spent `before`, with `done` steps in its
        weights, and where its snapshots fall.
        """
        left = asked - done
        if self.target_epsilon is not None and sum(phase.steps for phase in before) > done:
            # Steps that a crash lost are spent: fewer are left within the target.
            left = self.steps_left(self.target_epsilon, before, left)

        def within(epsilon: float) -> int:
            # The training ends within its target, if not just at it: so does that snapshot.
            most = left if epsilon == self.target_epsilon else left + 1
            return self.steps_left(epsilon, before, most)

        def after(more: int) -> float:
            phases = (*before, Phase(self.noise_multiplier, self.rate, more))
            found = spent(phases, self.delta).epsilon
            return math.inf if found is None else found

        return scheduled(
            self.snapshot_at_epsilon, done=done, left=left, steps_left=within, epsilon_after=after
        )

    def record(
        self, phases: Sequence[Phase], steps_in_weights: int, caveats: Sequence[str]
    ) -> PrivacyRecord:
        """What goes into the model's config when `phases` have been spent."""
        bound = spent(phases, self.delta)
        steps = sum(phase.steps for phase in phases)
        return PrivacyRecord(
            epsilon=bound.epsilon,
            reason=bound.reason,
            delta=self.delta,
            unit=self.unit,
            accountant=accountant_name(self.unit),
            noise_multiplier=self.noise_multiplier,
            clip=self.clip,
            rate=self.rate,
            expected_units=self.denominator,
            words_per_user=self.words_per_user,
            units=self.units,
            steps=steps,
            lost_steps=steps - steps_in_weights,
            phases=[
                SpentSteps(
                    noise_multiplier=phase.noise_multiplier, rate=phase.rate, steps=phase.steps
                )
                for phase in phases
            ],
            gaussian=_gaussian(phases, self.delta),
            insecure_seed=self.insecure,
            caveats=list(caveats),
        )


def plan_of(settings: PrivacySettings, units: int, steps: int) -> PrivacyPlan:
    """Make settings definite for a training of `steps` steps on a text of `units` units; noise
    is calibrated here, where an epsilon is the target.
    """
    delta = default_delta(units) if settings.delta is None else settings.delta
    check_delta(delta)
    rate = settings.rate_of(units)
    noise = settings.noise_multiplier
    if noise is None:
        noise = calibrate(settings.target_epsilon or 0.0, delta, rate, steps)
    return PrivacyPlan(
        unit=settings.unit,
        units=units,
        rate=rate,
        words_per_user=settings.words_per_user,
        clip=settings.clip,
        noise_multiplier=noise,
        delta=delta,
        target_epsilon=settings.target_epsilon,
        snapshot_at_epsilon=settings.snapshot_at_epsilon,
        insecure=settings.insecure_seed is not None,
    )


def _gaussian(phases: Sequence[Phase], delta: float) -> GaussianValue | None:
    mu = mu_of(phases)
    value = epsilon_of(mu, delta)
    if math.isinf(value):
        return None
    return GaussianValue(mu=mu, epsilon=value, note=UNDER_REPORTS)
