"""The differential privacy of a model, as its `config.json` and reports tell it."""

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from leakscope.records.models.mitigation_record import MitigationRecord

DELTA_OF_ALL = 0.1
"""The most that delta times the number of units may be. Delta is the probability of anything at
all, so above this a mechanism may give a unit away whole in one training of ten."""
LEAST_UNITS = 10
"""With fewer, there is hardly anybody among whom a unit could be hidden."""


class SpentSteps(BaseModel):
    """Steps under the same noise and rate."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    noise_multiplier: float
    rate: float
    steps: int


class GaussianValue(BaseModel):
    """The value by Gaussian DP, as the second paper gives it."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    mu: float
    epsilon: float
    """At the record's delta."""
    note: str
    """That it is an approximation, and on which side it errs."""


class PrivacyRecord(MitigationRecord):
    """What differential privacy a model has, by which accountant, and what it does not cover."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="ignore")

    kind: Literal["dp"] = "dp"
    epsilon: float | None
    """An upper bound for all that has been spent; null: none can be given, see `reason`."""
    reason: str | None = None
    """Why there is no epsilon."""
    delta: float
    unit: Literal["user", "document"]
    """What may be added or removed without the model showing it."""
    accountant: str
    noise_multiplier: float
    """Of the last steps: the noise's standard deviation in units of the clip."""
    clip: float
    """Largest norm of what a unit contributes to a step, in the last steps."""
    rate: float
    """Probability that a unit takes part in a step, in the last steps."""
    expected_units: float
    """Units expected in a step: the fixed denominator of the gradient."""
    words_per_user: int
    """Predictions that a unit gives at most in a step."""
    units: int
    """Users (or documents) of the training text; taken as public."""
    steps: int
    """All steps spent, also those that a crash lost."""
    lost_steps: int
    """Of them, those that are not in the weights."""
    phases: list[SpentSteps]
    """The steps by noise and rate."""
    gaussian: GaussianValue | None = None
    """For comparison with the literature only."""
    relation: Literal["add-remove", "replace-one"] = "add-remove"
    """What epsilon is about: one unit more or less, or one replaced by another."""
    replace_one_epsilon: float | None = None
    """Epsilon, at the same delta, if one unit may be replaced by another; null: none can be given,
    or an older version wrote the record."""
    schedules: dict[str, str] | None = None
    """The factors that noise, clip and rate followed, by name, each from some step on; null: there
    were none."""
    insecure_seed: bool
    """Whether noise and draws came from a seed: anyone who knows the seed voids the guarantee."""
    caveats: list[str]
    """What the guarantee does not cover, a sentence each."""

    @model_serializer(mode="wrap")
    def _known(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Records of older versions stay as they were."""
        unsaid = (("relation", "add-remove"), ("replace_one_epsilon", None), ("schedules", None))
        return {name: value for name, value in handler(self).items() if (name, value) not in unsaid}

    def doubts(self) -> list[str]:
        """See `doubts_about`; also of records whose caveats do not tell them."""
        return doubts_about(self.unit, self.units, self.delta)

    def summary(self) -> str:
        """One line for tables; epsilon and delta are rounded up."""
        if self.epsilon is None:
            return f"dp, no epsilon for one {self.unit}"
        void = ", insecure seed" if self.insecure_seed else ""
        void += ", which guarantees nothing" if self.doubts() else ""
        bounds = f"epsilon {_rounded_up(self.epsilon)} at delta {_rounded_up(self.delta)}"
        whom = f"{'' if self.relation == 'add-remove' else 'replacing '}one {self.unit}"
        return f"dp, {bounds} for {whom}{void}"


def doubts_about(unit: str, units: int, delta: float) -> list[str]:
    """Why an epsilon guarantees nothing, whatever its value, a sentence each; none where it does.
    Looks only at what is public.
    """
    found = []
    if delta * units > DELTA_OF_ALL * (1 + 1e-9):  # delta may have been made by this very division
        found.append(
            f"Delta is above {DELTA_OF_ALL} over the number of {unit}s, which would permit giving "
            "one of them away whole, so the DP epsilon guarantees nothing; train with a smaller "
            "--delta, such as the default."
        )
    if units < LEAST_UNITS:
        found.append(
            f"There are only {units} {unit}s, too few to hide one among the others, so the DP "
            f"epsilon guarantees nothing; train on at least {LEAST_UNITS} {unit}s."
        )
    return found


def _rounded_up(value: float) -> str:
    """To 4 digits, never below the value."""
    if value <= 0:
        return f"{value:g}"
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(round(value / unit, 6)) * unit:.4g}"
