"""What a maximal run is: the one place that says so, for reports and for hardened output."""

from dataclasses import dataclass

import numpy as np

from leakscope.records.documents import BoolArray, LongArray


@dataclass(frozen=True)
class MaximalRuns:
    """Runs of words in rows of words (documents, or stored occurrences), in order; r runs."""

    rows: LongArray
    """[r] the row that each run lies in."""
    first: LongArray
    """[r] the place of its first word among the words of all rows."""
    stop: LongArray
    """[r] the place after its last word."""

    @property
    def lengths(self) -> LongArray:
        """[r] words of each run, at least one."""
        return self.stop - self.first


def maximal_runs(correct: BoolArray, offsets: LongArray) -> MaximalRuns:
    """The runs of `correct` [w] words that cannot be made longer. A run never leaves its row, and
    one that reaches the end of its row counts; row i has words offsets[i] to offsets[i + 1].
    """
    begins = np.zeros(len(correct) + 1, np.bool_)
    begins[offsets] = True
    before = np.concatenate([[False], correct])[:-1] & ~begins[:-1]
    after = np.concatenate([correct, [False]])[1:] & ~begins[1:]
    first = np.flatnonzero(correct & ~before)
    stop = np.flatnonzero(correct & ~after) + 1
    return MaximalRuns(np.searchsorted(offsets, first, side="right") - 1, first, stop)
