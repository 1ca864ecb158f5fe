"""What a private training is told."""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.dp.accounting.relations import RELATIONS, Relation
from leakscope.training.dp.clipping.methods import METHODS, Method
from leakscope.training.dp.factor_schedule import factor_at, factors_of
from leakscope.training.dp.protected_unit import Unit

if TYPE_CHECKING:
    from leakscope.records.models.dp_record import PrivacyRecord

LEDGER = "privacy.jsonl"
"""The file that records every step before its noise is added, see `ledger`."""
USERS_PER_STEP = 64
"""Of a training that is told neither this nor the sampling rate and has many users."""
MOST_OF_USERS = 10
"""Of one with fewer users, one in so many: where more take part, sampling hides less."""

_LATER = {"later": True}


@dataclass(frozen=True)
class PrivacySettings(MitigationSettings):
    """The terms of differential privacy, as the user gives them."""

    kind: ClassVar[str] = "dp"
    title: ClassVar[str] = "differential privacy"
    forbids_seen_start: ClassVar[str | None] = "no training from it is private"
    dropout: ClassVar[float | None] = 0.0

    unit: Unit = "user"
    """What the guarantee protects: all that one user wrote, or one document."""
    users_per_step: float | None = None
    """How many users (or documents) to expect in a step, if no sampling rate is given. By default
    64, but at most a tenth of all."""
    rate: float | None = field(default=None, metadata={"option": "sampling_rate"})
    """The probability that a user (or document) takes part in a step."""
    words_per_user: int = 500
    """The most predictions that a user (or document) gives in a step."""
    clip: float = 1.0
    """The largest norm of what a user (or document) contributes to a step's gradient."""
    noise_multiplier: float | None = None
    """The standard deviation of the noise, in units of the clip. Give either this or the target
    epsilon."""
    target_epsilon: float | None = None
    """The epsilon at the end of the training. The noise is calibrated to it."""
    delta: float | None = None
    """The delta of the guarantee. By default it is at most 1e-5, 0.1 / users and 1 / users^1.1."""
    snapshot_at_epsilon: tuple[float, ...] = field(default=(), metadata={"separated": True})
    """For each of these epsilons, keep the weights after the last step that stays within it."""
    insecure_seed: int | None = None
    """Draw users and noise from this seed. The training can then be repeated, but nobody is
    protected from someone who knows the seed."""
    method: Method = field(default="auto", metadata={"option": "clipping"})
    """How the clipped sum is computed. All ways are exact."""
    relation: Relation = field(default="add-remove", metadata=_LATER)
    """What epsilon is about: one user (or document) more or less, or one replaced by another, which
    gives a greater epsilon."""
    noise_schedule: str | None = field(default=None, metadata=_LATER)
    """Factors on the noise multiplier, given or calibrated, each from some step on, such as
    500:0.8,1000:0.64."""
    clip_schedule: str | None = field(default=None, metadata=_LATER)
    """Factors on the clip, likewise."""
    rate_schedule: str | None = field(default=None, metadata=_LATER)
    """Factors on the sampling rate, likewise."""
    words_at_a_time: int | None = field(default=None, metadata=_LATER)
    """The most words of a step that are computed at once, which limits its memory. A user (or
    document) with more is computed alone. The result is the same but for rounding."""

    def __post_init__(self) -> None:
        if self.unit not in ("user", "document"):
            raise LeakscopeError("The unit of privacy is user or document.")
        if self.users_per_step is not None and self.rate is not None:
            raise LeakscopeError("Give either the users per step or the sampling rate, not both.")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise LeakscopeError("The sampling rate must be above 0 and at most 1.")
        if self.users_per_step is not None and not 0 < self.users_per_step < math.inf:
            raise LeakscopeError("The users per step must be positive.")
        if self.words_per_user < 1:
            raise LeakscopeError("The words per user must be at least 1.")
        _positive(self.clip, "clip")
        if (self.noise_multiplier is None) == (self.target_epsilon is None):
            raise LeakscopeError("Give either the noise multiplier or the target epsilon.")
        _positive(self.noise_multiplier, "noise multiplier")
        _positive(self.target_epsilon, "target epsilon")
        if self.delta is not None and not 0 < self.delta < 1:
            raise LeakscopeError("Delta must be between 0 and 1.")
        self._check_snapshots()
        self._check_later()
        if self.method not in METHODS:
            raise LeakscopeError(f"The clipping method is one of {', '.join(METHODS)}.")
        if self.insecure_seed is not None and not 0 <= self.insecure_seed < 2**31:
            raise LeakscopeError("The insecure seed must be at least 0 and below 2^31.")

    def check(self, *, dropout: float, snapshot_steps: int | None) -> None:
        """See `MitigationSettings`."""
        if dropout:
            raise LeakscopeError("Private training has no dropout; set --dropout 0.")
        if snapshot_steps and self.snapshot_at_epsilon:
            raise LeakscopeError("Take snapshots either by steps or at epsilons.")

    def repeated(self, record: "PrivacyRecord") -> "PrivacySettings":
        """The same mechanism for fewer users. Rate, noise and delta stay as they were; the settings
        would have made others of another number of users. Noise and draws are fresh, whatever they
        were: equal noise in two models would cancel out between them.
        """
        last = max(record.steps - record.lost_steps - 1, 0)  # the record tells of the last steps
        return replace(
            self,
            users_per_step=None,
            rate=record.rate / factor_at(self.rate_schedule, last),
            noise_multiplier=record.noise_multiplier / factor_at(self.noise_schedule, last),
            target_epsilon=None,
            delta=record.delta,
            snapshot_at_epsilon=(),
            insecure_seed=None,
        )

    def rate_of(self, units: int) -> float:
        """The sampling rate for so many units."""
        if self.rate is not None:
            return self.rate
        if self.users_per_step is None:
            return max(1, min(USERS_PER_STEP, units // MOST_OF_USERS)) / units
        if self.users_per_step > units:
            raise LeakscopeError(
                f"There are only {units} {self.unit}s, so no more can be expected in a step; "
                f"lower --users-per-step from {self.users_per_step:g} to at most {units}, or leave "
                "it out."
            )
        return self.users_per_step / units

    def _check_later(self) -> None:
        if self.relation not in RELATIONS:
            raise LeakscopeError(f"The relation is one of {', '.join(RELATIONS)}.")
        if self.words_at_a_time is not None and self.words_at_a_time < 1:
            raise LeakscopeError("The words at a time must be at least 1.")
        for name in ("noise_schedule", "clip_schedule", "rate_schedule"):
            factors_of(getattr(self, name), name.replace("_", " "))

    def _check_snapshots(self) -> None:
        wanted = self.snapshot_at_epsilon
        for epsilon in wanted:
            _positive(epsilon, "epsilon of a snapshot")
        if any(later <= sooner for sooner, later in pairwise(wanted)):
            raise LeakscopeError("The epsilons of snapshots must increase, as in 3,5,7.")
        if wanted and self.target_epsilon is not None and wanted[-1] > self.target_epsilon:
            raise LeakscopeError("No snapshot can have a greater epsilon than the target.")


def _positive(value: float | None, name: str) -> None:
    if value is not None and not 0 < value < math.inf:
        raise LeakscopeError(f"The {name} must be positive and finite.")
