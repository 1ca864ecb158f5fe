"""A private training as it will be run: rate, noise, delta, and where its snapshots fall."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import GaussianValue, PrivacyRecord, SpentSteps
from leakscope.training.dp.accounting.accountant import (
    accountant_name,
    check_delta,
    default_delta,
    spent,
    steps_at,
    steps_within,
)
from leakscope.training.dp.accounting.calibration import calibrate
from leakscope.training.dp.accounting.gaussian_dp import UNDER_REPORTS, epsilon_of, mu_of
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.accounting.relations import Relation
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger_terms import Terms
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
    relation: Relation = "add-remove"
    noise_schedule: str | None = None
    clip_schedule: str | None = None
    rate_schedule: str | None = None

    @property
    def denominator(self) -> float:
        """What the noisy sum of a step is divided by, unless a schedule says otherwise: the
        expected number of units, a figure of the settings and never of a draw.
        """
        return self.rate * self.units

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each value of the clipped sum, before division and
        unless a schedule says otherwise.
        """
        return self.noise_multiplier * self.clip

    def at(self, step: int) -> "PrivacyPlan":
        """The same for step number `step` (from 0) alone, as schedules have it."""
        if not self._changes:
            return self
        terms = self.terms("").at(step)
        return replace(
            self,
            rate=terms.rate,
            noise_multiplier=terms.noise_multiplier,
            clip=terms.clip,
            noise_schedule=None,
            clip_schedule=None,
            rate_schedule=None,
        )

    @property
    def _changes(self) -> list[int]:
        return self.terms("").changes()

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
            self.noise_schedule,
            self.clip_schedule,
            self.rate_schedule,
        )

    def phases(self, first: int, stop: int) -> tuple[Phase, ...]:
        """What the steps numbered `first` to `stop` - 1 spend."""
        inside = (step for step in self._changes if first < step < stop)
        bounds = [first, *inside, stop]
        parts = [(self.at(start), end - start) for start, end in pairwise(bounds)]
        return tuple(Phase(part.noise_multiplier, part.rate, steps) for part, steps in parts)

    def epsilon(self, phases: Sequence[Phase]) -> float:
        """What phases spend at the plan's delta; infinite where no finite one can be given."""
        found = spent(phases, self.delta, self.relation).epsilon
        return math.inf if found is None else found

    def steps_left(self, epsilon: float, before: Sequence[Phase], limit: int, done: int = 0) -> int:
        """How many more steps after `before` stay within an epsilon, at most `limit`; `done` are
        in the weights.
        """
        if not self._changes:
            noise, rate, of = self.noise_multiplier, self.rate, self.relation
            return steps_at(
                epsilon, noise, rate, self.delta, before=before, limit=limit, relation=of
            )

        def cost(more: int) -> float:
            return self.epsilon((*before, *self.phases(done, done + more)))

        return steps_within(epsilon, cost, limit)

    def schedule(self, before: Sequence[Phase], done: int, asked: int) -> Schedule:
        """Where a training of `asked` steps ends that has spent `before`, with `done` steps in its
        weights, and where its snapshots fall.
        """
        left = asked - done
        if self.target_epsilon is not None and sum(phase.steps for phase in before) > done:
            # Steps that a crash lost are spent: fewer are left within the target.
            left = self.steps_left(self.target_epsilon, before, left, done)

        def within(epsilon: float) -> int:
            # The training ends within its target, if not just at it: so does that snapshot.
            most = left if epsilon == self.target_epsilon else left + 1
            return self.steps_left(epsilon, before, most, done)

        def after(more: int) -> float:
            return self.epsilon((*before, *self.phases(done, done + more)))

        return scheduled(
            self.snapshot_at_epsilon, done=done, left=left, steps_left=within, epsilon_after=after
        )

    def record(
        self, phases: Sequence[Phase], steps_in_weights: int, caveats: Sequence[str]
    ) -> PrivacyRecord:
        """What goes into the model's config when `phases` have been spent."""
        bound = spent(phases, self.delta, self.relation)
        last, steps = self.at(max(steps_in_weights - 1, 0)), sum(phase.steps for phase in phases)
        followed = {"noise": self.noise_schedule, "clip": self.clip_schedule}
        followed["rate"] = self.rate_schedule
        return PrivacyRecord(
            epsilon=bound.epsilon,
            reason=bound.reason,
            delta=self.delta,
            unit=self.unit,
            accountant=accountant_name(self.unit, self.relation),
            noise_multiplier=last.noise_multiplier,
            clip=last.clip,
            rate=last.rate,
            expected_units=last.denominator,
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
            relation=self.relation,
            replace_one_epsilon=spent(phases, self.delta, "replace-one").epsilon,
            schedules={name: factors for name, factors in followed.items() if factors} or None,
            insecure_seed=self.insecure,
            caveats=list(caveats),
        )


def plan_of(
    settings: PrivacySettings, units: int, steps: int, *, by_step: bool = False
) -> PrivacyPlan:
    """Make settings definite for a training of `steps` steps on a text of `units` units; noise
    is calibrated here, where an epsilon is the target. `by_step`: the caller asks for the plan
    `at` every step and limits the words at a time; others are refused such settings.
    """
    if not by_step:
        _check_plain(settings)
    delta = default_delta(units) if settings.delta is None else settings.delta
    check_delta(delta)
    plan = PrivacyPlan(
        unit=settings.unit,
        units=units,
        rate=settings.rate_of(units),
        words_per_user=settings.words_per_user,
        clip=settings.clip,
        noise_multiplier=settings.noise_multiplier or 1.0,
        delta=delta,
        target_epsilon=settings.target_epsilon,
        snapshot_at_epsilon=settings.snapshot_at_epsilon,
        insecure=settings.insecure_seed is not None,
        relation=settings.relation,
        noise_schedule=settings.noise_schedule,
        clip_schedule=settings.clip_schedule,
        rate_schedule=settings.rate_schedule,
    )
    _check_rates(plan)
    if settings.noise_multiplier is not None:
        return plan
    return replace(plan, noise_multiplier=_calibrated(plan, steps))


def _calibrated(plan: PrivacyPlan, steps: int) -> float:
    """The noise multiplier, before any schedule, that spends the target in so many steps."""

    def cost(noise: float) -> float:
        return plan.epsilon(replace(plan, noise_multiplier=noise).phases(0, steps))

    return calibrate(plan.target_epsilon or 0.0, plan.delta, plan.rate, steps, cost)


def _check_rates(plan: PrivacyPlan) -> None:
    if any(plan.at(step).rate > 1 for step in plan.terms("").changes()):
        raise LeakscopeError(
            "The rate schedule makes the sampling rate greater than 1; lower its factors, or the "
            "users per step."
        )


def _check_plain(settings: PrivacySettings) -> None:
    later = ("noise_schedule", "clip_schedule", "rate_schedule", "words_at_a_time")
    for name in later:
        if getattr(settings, name) is not None:
            raise LeakscopeError(
                f"make_private has no {name}; leave it out, or train by leakscope train."
            )


def _gaussian(phases: Sequence[Phase], delta: float) -> GaussianValue | None:
    mu = mu_of(phases)
    value = epsilon_of(mu, delta)
    if math.isinf(value):
        return None
    return GaussianValue(mu=mu, epsilon=value, note=UNDER_REPORTS)
