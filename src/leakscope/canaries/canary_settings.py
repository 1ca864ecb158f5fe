"""What the commands about canaries can be told."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from leakscope.records.errors import LeakscopeError

SCHEDULES = {
    "avocado": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50),
    "reddit": (1, 2, 5, 6, 20),
}
"""How often each canary of a user is repeated in Mireshghallah et al. (2021), appendix A.5, by the
data that they used it for."""
Frequency = Literal["any", "all-low", "mixed", "low-to-high", "high-to-low"]


@dataclass(frozen=True)
class PlantSettings:
    """Which canaries are drawn, how often each is repeated, and who gets them."""

    template: str = "{words:5}"
    """The text of a canary: {words:5} stands for five random words, {digits:16} for sixteen random
    digits, as in 'my card number is {digits:16}'."""
    vocabulary: int = 10_000
    """Draw from so many of the most frequent words; the model should know them."""
    frequency: tuple[Frequency, ...] = ("any",)
    """How frequent the words are: any, all-low, mixed, low-to-high or high-to-low. If it is
    repeated, there are canaries of each class."""
    phrase: bool = False
    """Choose words that look like an English phrase, by their endings: noun, adverb, verb,
    adjective, noun."""
    schedule: str | None = None
    """How often each canary of a user is repeated: avocado (1 to 10, 20, 30, 40, 50), reddit
    (1, 2, 5, 6, 20) or a list such as 1,4,16. By default avocado, and 1 with --coins."""
    users: int | None = None
    """Plant in so many users, drawn at random; by default in all."""
    controls: int = 100
    """Draw so many canaries more that are not planted."""
    coins: Literal["user", "document"] | None = None
    """Toss a coin for each canary, for canary bound: each is the only text of a user of its own, or
    one document more of some user, in or out of the training text."""
    canaries: int = 500
    """With --coins: for how many canaries a coin is tossed."""
    real: Path | None = None
    """A plain model: also list each user's document that surprises it most."""
    seed: int = 0
    """Of the words, the users, the places and the coins."""

    def __post_init__(self) -> None:
        if self.vocabulary < 2:
            raise LeakscopeError("--vocabulary must be at least 2.")
        if not self.frequency or set(self.frequency) - set(get_args(Frequency)):
            raise LeakscopeError(f"--frequency is one of {', '.join(get_args(Frequency))}.")
        if len(set(self.frequency)) < len(self.frequency):
            raise LeakscopeError("Give each --frequency once.")
        if (self.users is not None and self.users < 1) or self.canaries < 1 or self.controls < 0:
            raise LeakscopeError(
                "--users and --canaries must be at least 1 and --controls at least 0."
            )
        if self.coins is not None and self.users is not None:
            raise LeakscopeError("With --coins, give --canaries instead of --users.")
        self.repetitions()

    def repetitions(self) -> tuple[int, ...]:
        """The schedule as numbers."""
        named = self.schedule or ("avocado" if self.coins is None else "1")
        if named in SCHEDULES:
            return SCHEDULES[named]
        try:
            found = tuple(int(part) for part in named.split(","))
        except ValueError:
            found = ()
        if not found or min(found) < 1:
            raise LeakscopeError(
                f"--schedule is {', '.join(SCHEDULES)}, or a list of repetitions such as 1,4,16."
            )
        return found


@dataclass(frozen=True)
class ExposureSettings:
    """How exposure is measured."""

    method: Literal["auto", "exact", "sample"] = "auto"
    """Enumerate the random space (exact), sample from it, or auto: enumerate where it is small."""
    samples: int = 100_000
    """How many sequences to sample from a random space."""
    exact_up_to: int = 200_000
    """How large a random space may be to be enumerated by auto."""
    bootstrap: int = 100
    """Resamples for the intervals."""
    seed: int = 0
    """Of the samples."""
    other_corpus: bool = field(default=False, metadata={"group": "Reading it"})
    """Measure even a model that was not trained on the planted corpus, for comparison."""

    def __post_init__(self) -> None:
        if self.samples < 100 or self.exact_up_to < 1 or self.bootstrap < 10:
            raise LeakscopeError(
                "--samples must be at least 100, --exact-up-to at least 1 and --bootstrap at "
                "least 10."
            )


@dataclass(frozen=True)
class AttackSettings:
    """How the tab attack is made."""

    given: int = 1
    """How many of a canary's first words the attacker knows."""
    beam: int = 1
    """Also follow so many of the most probable continuations at a time; 1: the best one alone."""
    other_corpus: bool = field(default=False, metadata={"group": "Reading it"})
    """Attack even a model that was not trained on the planted corpus, for comparison."""

    def __post_init__(self) -> None:
        if self.given < 0 or self.beam < 1:
            raise LeakscopeError("--given must be at least 0 and --beam at least 1.")


@dataclass(frozen=True)
class BoundSettings:
    """How the lower bound on epsilon is made."""

    claimed: float | None = None
    """The epsilon that is claimed; by default what the model's training says."""
    delta: float | None = None
    """The delta of the claim; by default what the model's training says."""
    confidence: float = 0.95
    """Probability with which the bound holds."""
    guesses: int | None = None
    """Make so many guesses, half of them "in" and half "out", and abstain from the others. By
    default several numbers are tried, and the bound pays for that."""
    reference: Path | None = None
    """A model that has seen none of the canaries: guess by the difference to it."""
    other_corpus: bool = field(default=False, metadata={"group": "Reading it"})
    """Take even a model that was not trained on the planted corpus."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise LeakscopeError("--confidence must lie between 0 and 1.")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise LeakscopeError("--delta must be at least 0 and below 1.")
        if self.claimed is not None and not 0 <= self.claimed < float("inf"):
            raise LeakscopeError("--claimed must be at least 0.")
        if self.guesses is not None and self.guesses < 2:
            raise LeakscopeError("--guesses must be at least 2.")
