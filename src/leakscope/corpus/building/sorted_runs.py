"""Sorted runs of words in files without names, merged into one order."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from leakscope.corpus.build_settings import LexiconOrder
from leakscope.corpus.building.counted_words import SortedWords
from leakscope.corpus.building.lexicon_kernels import merge_some
from leakscope.corpus.building.number_stage import binary
from leakscope.corpus.parts.ragged_kernels import gathered
from leakscope.corpus.parts.row_columns import flat
from leakscope.engine.spilled_array import SpilledArray
from leakscope.records.documents import LongArray


class MergedWords(NamedTuple):
    """Some words in the order of all."""

    words: pa.LargeBinaryArray
    counts: LongArray
    users: LongArray
    rows: LongArray
    """Their places in the runs, one after the other."""


class SortedRuns:
    """Takes sorted runs of distinct words, then gives all of them in their order."""

    def __init__(self, scratch: Path) -> None:
        self._data = SpilledArray(scratch, np.uint8)
        self._ends, self._counts, self._users = (SpilledArray(scratch, np.int64) for _ in range(3))
        self._ends.append(np.zeros(1, np.int64))
        self._starts = [0]

    def __len__(self) -> int:
        return self._starts[-1]

    def append(self, run: SortedWords) -> None:
        """One more run."""
        data, offsets = flat(run.words)
        self._ends.append(len(self._data) + (offsets[1:] - offsets[0]))
        self._data.append(data[offsets[0] : offsets[-1]])
        self._counts.append(run.counts)
        self._users.append(run.users)
        self._starts.append(len(self._counts))

    def merged(self, order: LexiconOrder, rows: int) -> Iterator[MergedWords]:
        """All words in their order, `rows` at a time. Nothing can be appended any more."""
        data, offsets, counts, users = (
            each.mapped() for each in (self._data, self._ends, self._counts, self._users)
        )
        first, second = (users, counts) if order == "users" else (counts, users)
        heads = np.array([self._starts[:-1], self._starts[1:]], np.int64).T.copy()
        found = np.empty(min(rows, len(self)), np.int64)
        while size := merge_some(heads, first, second, data, offsets, found):
            chosen = found[:size]
            words = binary(*gathered(data, offsets[:-1][chosen], offsets[1:][chosen]))
            yield MergedWords(words, counts[chosen], users[chosen], chosen)
