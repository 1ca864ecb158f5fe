"""How far and how widely to search, and what that comes to."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SearchPlan:
    """How far and how widely to search."""

    length: int = 5
    width: int = 10_000
    """Sequences of one entry that are followed."""
    halving: bool = True
    """Follow half as many at each further step."""
    groups: int = 1
    """Cut the first entries into so many groups by their scores, and search behind each alone."""

    def width_at(self, length: int, share: float = 1.0) -> int:
        """How many sequences of a length to keep, of a group with this share of first entries."""
        width = self.width >> (length - 1) if self.halving else self.width
        return max(1, round(share * width))

    def shares(self, first: int) -> list[float]:
        """Of so many first entries, those of each group."""
        cut = np.array_split(np.arange(first), min(self.groups, first))
        return [len(rows) / first for rows in cut]

    def rows(self, entries: int) -> int:
        """How many prefixes are extended, where there are so many entries."""
        shares = self.shares(min(self.width, entries))
        return sum(
            self.width_at(length, each) for each in shares for length in range(1, self.length)
        )
