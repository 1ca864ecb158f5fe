"""What `canary bound` writes: `bound.json`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from leakscope.records.canaries.exposure_record import MeasuredModel


class TriedGuesses(BaseModel):
    """One number of guesses, and what it came to."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    guesses: int
    correct: int
    epsilon_lower: float


class BoundReport(MeasuredModel):
    """`bound.json`: what was measured below what is claimed."""

    unit: Literal["user", "document"]
    """What a coin was tossed for, and what the claim is about."""
    coins: int
    """How many coins were tossed."""
    inside: int
    """How many of them said "in"."""
    unknown: int
    """Canaries about which nothing was guessed, since the model does not know their words."""
    delta: float
    """Of the claim."""
    confidence: float
    """With which `epsilon_lower` holds, the numbers of guesses that were tried included."""
    claimed: float | None
    """The epsilon that is claimed; null: there is no claim."""
    epsilon_lower: float
    """The training is not (epsilon, delta)-DP for any smaller epsilon."""
    guesses: int
    correct: int
    """Of the number of guesses that gave the bound."""
    above_claim: bool | None
    """Whether the claim is refuted; null: there is no claim."""
    tried: list[TriedGuesses]
