"""The differential privacy of a model, as its `config.json` and reports tell it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


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


class PrivacyRecord(BaseModel):
    """What differential privacy a model has, by which accountant, and what it does not cover."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

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
    insecure_seed: bool
    """Whether noise and draws came from a seed: then the guarantee is void for who may know it."""
    caveats: list[str]
    """What the guarantee does not cover, a sentence each."""


def without_seed(training: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training as they may be told: that noise and draws came from a seed, but
    not which, since whoever knows it can subtract the noise.
    """
    privacy = training.get("privacy")
    if not isinstance(privacy, dict) or privacy.get("insecure_seed") is None:
        return training
    return training | {"privacy": privacy | {"insecure_seed": "given"}}
