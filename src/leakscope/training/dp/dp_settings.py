"""What a private training is told."""

import math
from dataclasses import dataclass, field
from itertools import pairwise

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping import METHODS, Method
from leakscope.training.dp.units import Unit


@dataclass(frozen=True)
class PrivacySettings:
    """The terms of differential privacy, as the user gives them."""

    unit: Unit = "user"
    """What the guarantee is about: all that one user wrote, or one document."""
    users_per_step: float | None = None
    """Expected units a step; the rate is this divided by their number. Either this or `rate`."""
    rate: float | None = field(default=None, metadata={"option": "sampling_rate"})
    """Probability that a unit takes part in a step."""
    words_per_user: int = 500
    """Predictions that a unit gives at most in a step."""
    clip: float = 1.0
    """Largest norm of what a unit contributes to a step's gradient."""
    noise_multiplier: float | None = None
    """The noise's standard deviation in units of the clip. Either this or `target_epsilon`."""
    target_epsilon: float | None = None
    """Epsilon at the end of the training; the noise is calibrated to it."""
    delta: float | None = None
    """None: at most 1 / units^1.1."""
    snapshot_at_epsilon: tuple[float, ...] = field(default=(), metadata={"separated": True})
    """A snapshot at the last step whose epsilon is at most this, for each."""
    insecure_seed: int | None = None
    """Noise and draws from a seed: reproducible, and without protection from who knows it."""
    method: Method = field(default="auto", metadata={"option": "clipping"})
    """How the clipped sum is computed; all are exact."""

    def __post_init__(self) -> None:
        if self.unit not in ("user", "document"):
            raise LeakscopeError("The unit of privacy is user or document.")
        if (self.users_per_step is None) == (self.rate is None):
            raise LeakscopeError("Give either the users per step or the sampling rate.")
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
        if self.method not in METHODS:
            raise LeakscopeError(f"The clipping method is one of {', '.join(METHODS)}.")
        if self.insecure_seed is not None and not 0 <= self.insecure_seed < 2**31:
            raise LeakscopeError("The insecure seed must be at least 0 and below 2^31.")

    def rate_of(self, units: int) -> float:
        """The sampling rate for so many units."""
        if self.rate is not None:
            return self.rate
        expected = self.users_per_step or 0.0
        if expected > units:
            raise LeakscopeError(
                f"There are only {units} {self.unit}s, so no more can be expected in a step."
            )
        return expected / units

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
