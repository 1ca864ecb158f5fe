"""Ragged arrays: rows of unequal length, laid end to end in one flat array.

Row i has the values offsets[i] to offsets[i + 1] of the flat array.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

LongArray = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.integer] | npt.NDArray[np.bool_]
LONG_ROW = 4096
"""Values of rows on average that are not copied one by one."""


def offsets_of(lengths: Lengths) -> LongArray:
    """[n + 1] where each row begins, and where the last one ends; of booleans, how many were true
    so far.
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def within_rows(lengths: Lengths) -> LongArray:
    """[w] the place of every value within its own row: 0, 1, 2, ... in each."""
    offsets = offsets_of(lengths)
    found: LongArray = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return found


def places_of(starts: Lengths, lengths: Lengths) -> LongArray:
    """[w] the places `starts[i]`, `starts[i]` + 1, ... of each row, `lengths[i]` of them."""
    offsets = offsets_of(lengths)
    found: LongArray = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return found


def rows_at(values: npt.NDArray[Any], starts: Lengths, lengths: Lengths) -> npt.NDArray[Any]:
    """[w] the values from `starts[i]` on of each row, `lengths[i]` of them. Long rows are copied as
    they are: the place of each value would take many times its memory.
    """
    if len(lengths) and lengths.sum() > LONG_ROW * len(lengths):
        rows = zip(starts.tolist(), lengths.tolist(), strict=True)
        return np.concatenate([values[start : start + length] for start, length in rows])
    found: npt.NDArray[Any] = values[places_of(starts, lengths)]
    return found


def row_sums(values: npt.NDArray[Any], offsets: LongArray) -> npt.NDArray[Any]:
    """[n] the sum of each row, 0 for an empty one; exact for integers and booleans."""
    running = np.concatenate([[0], np.cumsum(values)])
    found: npt.NDArray[Any] = running[offsets[1:]] - running[offsets[:-1]]
    return found
