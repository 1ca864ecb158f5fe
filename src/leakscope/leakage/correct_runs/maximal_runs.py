"""What a maximal run is: the one place that says so, for reports and for hardened output."""

import tempfile
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from leakscope.engine.spilled_array import SpilledArray, is_long
from leakscope.records.documents import BoolArray, LongArray

BLOCK = 1 << 22
"""Words at a time, of very many."""


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
    one that reaches the end of its row counts; row i has words offsets[i] to offsets[i + 1]. Of
    very many words they are found some at a time, and kept in files.
    """
    if not is_long(len(correct)):
        return MaximalRuns(*_runs_within(correct, offsets, 0, len(correct)))
    folder = Path(tempfile.gettempdir())
    found = [SpilledArray(folder, np.int64) for _ in fields(MaximalRuns)]
    for low in range(0, len(correct), BLOCK):
        some = _runs_within(correct, offsets, low, min(low + BLOCK, len(correct)))
        for column, values in zip(found, some, strict=True):
            column.append(values)
    return MaximalRuns(*(column.mapped() for column in found))


def _runs_within(
    correct: BoolArray, offsets: LongArray, low: int, high: int
) -> tuple[LongArray, LongArray, LongArray]:
    """(the rows of the runs that begin in the words `low` to `high`, their first words, the places
    after the last words of those that end there).
    """
    begins = np.zeros(high - low + 1, np.bool_)
    begins[
        offsets[np.searchsorted(offsets, low) : np.searchsorted(offsets, high, "right")] - low
    ] = 1
    here, before = correct[low:high], correct[low - 1 : low] if low else [False]
    after = correct[high : high + 1] if high < len(correct) else [False]
    goes_on = np.concatenate([before, here])[:-1] & ~begins[:-1]
    continues = np.concatenate([here, after])[1:] & ~begins[1:]
    first = np.flatnonzero(here & ~goes_on) + low
    stop = np.flatnonzero(here & ~continues) + 1 + low
    return np.searchsorted(offsets, first, side="right") - 1, first, stop
