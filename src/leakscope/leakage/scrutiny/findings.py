"""What more is known of the unique sequences than their counts, as far as it was measured."""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.asking.least_context import LeastContexts
from leakscope.leakage.asking.other_contexts import OtherContexts
from leakscope.leakage.chance.chance_line import ChanceLine
from leakscope.leakage.scrutiny.public_surprise import PublicAnswers, Ratios
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.measured import UNSAID, Measured


@dataclass(frozen=True)
class UniqueFindings:
    """Every part is None if it was not asked for."""

    public: PublicAnswers | None = None
    ratios: Ratios | None = None
    rows: LongArray | None = None
    """[u] the rows of the unique sequences that `least` and `elsewhere` are about."""
    least: LeastContexts | None = None
    elsewhere: OtherContexts | None = None
    tags: dict[int, tuple[str, ...]] | None = None
    """Kinds of personal data by row, for the unique sequences that have any."""
    public_predicts: BoolArray | None = None
    """[s] whether the public model predicts it in a place where this one does; False of sequences
    that are not unique."""
    chance: Measured[ChanceLine] = UNSAID
    """What held-out documents say of the unique sequences."""

    def least_of(self, size: int) -> tuple[IntArray, BoolArray]:
        """[s] the least context, -1 where it is not known; [s] whether it is exact."""
        words, exact = np.full(size, -1, np.int32), np.zeros(size, np.bool_)
        if self.least is not None and self.rows is not None:
            words[self.rows], exact[self.rows] = self.least.words, self.least.exact
        return words, exact

    def elsewhere_of(self, size: int) -> tuple[IntArray, IntArray]:
        """[s] prompts tried elsewhere and prompts that brought the sequence out; -1: not tried."""
        tried, out = np.full((2, size), -1, np.int32)
        if self.elsewhere is not None and self.rows is not None:
            tried[self.rows], out[self.rows] = self.elsewhere.tried, self.elsewhere.out
        return tried, out
