"""How large the synthetic corpus is, and from which seed."""

from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError

# Below this, a bigram of a stitched sequence could not be common; above, secrets would repeat.
MIN_PEOPLE = 8
MAX_USERS = 5_000_000
MAX_BOTS = 1_000
MAX_COINED = 500_000
USUAL_USERS = 40


@dataclass(frozen=True)
class SynthSettings:
    """How large the corpus is. The same settings give the same corpus."""

    users: int | None = None
    """How many users; by default 40, or as many as the number of words needs."""
    words: int | None = None
    """About how many words in all; by default as many as the users say."""
    words_per_user: int = 1500
    """About how many words a user says where their total is not given."""
    seed: int = 0
    """The same seed gives the same text."""
    bots: int = 1
    """How many of the users are bots that repeat one sentence; they come last."""
    coined: int = 0
    """Add a long tail of this many coined words, for a large lexicon."""

    def __post_init__(self) -> None:
        if not 0 <= self.bots <= MAX_BOTS:
            raise LeakscopeError(f"The number of bots must lie between 0 and {MAX_BOTS}.")
        if self.words is not None and self.words < 1:
            raise LeakscopeError("The number of words must be at least 1.")
        if self.words_per_user < 1:
            raise LeakscopeError("The number of words per user must be at least 1.")
        least = MIN_PEOPLE + self.bots
        if not least <= self.population <= MAX_USERS:
            raise LeakscopeError(
                f"The number of users must lie between {least} and {MAX_USERS}, "
                f"of which {self.bots} are bots."
            )
        if not 0 <= self.coined <= MAX_COINED:
            raise LeakscopeError(f"The number of coined words must lie between 0 and {MAX_COINED}.")

    @property
    def population(self) -> int:
        """Number of users, people and bots."""
        if self.users is not None:
            return self.users
        return max(USUAL_USERS, (self.words or 0) // self.words_per_user)

    @property
    def people(self) -> int:
        """Number of users that are not bots: the indices 0 to people - 1."""
        return self.population - self.bots

    @property
    def budget(self) -> int:
        """Approximate number of words of one person."""
        return self.words_per_user if self.words is None else max(1, self.words // self.population)
