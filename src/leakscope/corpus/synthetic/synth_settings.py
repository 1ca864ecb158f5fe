"""How large the synthetic corpus is, and from which seed."""

from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError

# Below this, a bigram of a stitched sequence could not be common; above, secrets would repeat.
MIN_PEOPLE = 8
MAX_USERS = 5_000_000
MAX_BOTS = 1_000
MAX_COINED = 500_000


@dataclass(frozen=True)
class SynthSettings:
    """Same settings, same corpus. The last `bots` of the `users` are bots, the others people."""

    users: int = 40
    words: int | None = None
    """Approximate size of the corpus in words; `words_per_user * users` if None."""
    words_per_user: int = 1500
    seed: int = 0
    bots: int = 1
    coined: int = 0
    """Size of a long tail of coined words, used by everybody, the first most often; 0: none."""

    def __post_init__(self) -> None:
        if not 0 <= self.bots <= MAX_BOTS:
            raise LeakscopeError(f"the number of bots must lie between 0 and {MAX_BOTS}")
        least = MIN_PEOPLE + self.bots
        if not least <= self.users <= MAX_USERS:
            raise LeakscopeError(
                f"the number of users must lie between {least} and {MAX_USERS}, "
                f"of which {self.bots} are bots"
            )
        if not 0 <= self.coined <= MAX_COINED:
            raise LeakscopeError(f"the number of coined words must lie between 0 and {MAX_COINED}")
        if self.words is not None and self.words < 1:
            raise LeakscopeError("the number of words must be at least 1")
        if self.words_per_user < 1:
            raise LeakscopeError("the number of words per user must be at least 1")

    @property
    def people(self) -> int:
        """Number of users that are not bots: the indices 0 to people - 1."""
        return self.users - self.bots

    @property
    def budget(self) -> int:
        """Approximate number of words of one person."""
        return self.words_per_user if self.words is None else max(1, self.words // self.users)
