"""What a study is told, besides what its trainings and measurements are."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.user_groups import GROUP_USERS

OF_BEST = (1.5, 1.1)
"""Without targets: these multiples of the best that plain training reaches."""


@dataclass(frozen=True)
class StudySettings:
    """Which trainings are compared, where they stop, and how often they are repeated."""

    targets: tuple[float, ...] = field(default=(), metadata={"option": "target"})
    """Compare where the validation perplexity first is at most this. May be repeated. By default
    1.5 and 1.1 times the best that plain training reaches with the first seed."""
    seeds: tuple[int, ...] = field(default=(0,), metadata={"option": "seed"})
    """Plant, train and measure once with this seed. May be repeated."""
    trainings: Path | None = None
    """A TOML file with a table for each training: its name, and options of leakscope train by their
    names. By default plain, dp, adversarial and triplet are compared."""
    evaluations: int = 4
    """Measure the validation perplexity so often in an epoch."""
    group_users: int = GROUP_USERS
    """For disparate impact: set so many users with the most training documents against as many with
    the fewest."""

    def __post_init__(self) -> None:
        if any(not 1 < target < math.inf for target in self.targets):
            raise LeakscopeError("--target is a perplexity: above 1 and finite.")
        if not self.seeds or any(not 0 <= seed < 2**31 for seed in self.seeds):
            raise LeakscopeError("--seed must be at least 0 and below 2^31.")
        if len(set(self.targets)) < len(self.targets) or len(set(self.seeds)) < len(self.seeds):
            raise LeakscopeError("Give each --target and each --seed once.")
        if self.evaluations < 1 or self.group_users < 1:
            raise LeakscopeError("--evaluations and --group-users must be at least 1.")
