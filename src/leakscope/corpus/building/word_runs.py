"""Distinct words: counted as many at a time as fit into memory, put in order as runs in files
without names, and merged into one order.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.build_settings import LexiconOrder
from leakscope.corpus.building.lexicon_kernels import merge_some
from leakscope.corpus.building.number_stage import binary
from leakscope.corpus.building.word_table import Bytes, WordTable
from leakscope.corpus.parts.ragged_kernels import gathered
from leakscope.corpus.parts.row_columns import flat
from leakscope.engine.spilled_array import SpilledArray
from leakscope.records.documents import LongArray

TYPE_BYTES = 200
"""What a distinct word takes at most while it is counted and put in order, if it is short."""


class SortedWords(NamedTuple):
    """Words in the order of a lexicon."""

    words: pa.LargeBinaryArray
    counts: LongArray
    users: LongArray
    ranking: LongArray
    """Their numbers as they were given when they were counted."""


class CountedWords:
    """Adds up the lexicons of pieces of users, one after the other."""

    def __init__(self) -> None:
        self._table = WordTable()
        self._counts, self._users, self._last = (np.zeros(0, np.int64) for _ in range(3))

    def __len__(self) -> int:
        return len(self._table)

    def add(
        self, words: tuple[Bytes, LongArray], counts: LongArray, users: LongArray, giant: int | None
    ) -> LongArray:
        """Words of the next piece, each once; gives their numbers. `giant`: the only user of the
        piece, who may have others.
        """
        found = self._table.number(*words)
        size = len(self._table)
        self._counts, self._users = _grown(self._counts, size, 0), _grown(self._users, size, 0)
        self._counts[found] += counts
        if giant is not None:
            self._last = _grown(self._last, size, -1)
            users = np.where(self._last[found] == giant, 0, users)
            self._last[found[users > 0]] = giant
        self._users[found] += users
        return found

    def sorted(self, order: LexiconOrder) -> SortedWords:
        """All words, most frequent first, or with the most users first; then by the other one, then
        by code points. Nothing can be added any more.
        """
        # Each copy goes before the next comes.
        self._last = np.zeros(0, np.int64)
        size = len(self._table)
        words = self._table.finished()
        ranking = _ranking(words, self._counts[:size], self._users[:size], order)
        self._counts = self._counts[ranking]
        self._users = self._users[ranking]
        return SortedWords(words.take(pa.array(ranking)), self._counts, self._users, ranking)


def _ranking(
    words: pa.LargeBinaryArray, counts: LongArray, users: LongArray, order: LexiconOrder
) -> LongArray:
    first, second = (users, counts) if order == "users" else (counts, users)
    keys = pa.table({"first": first, "second": second, "word": words})
    ranking = pc.sort_indices(
        keys, [("first", "descending"), ("second", "descending"), ("word", "ascending")]
    )
    found: LongArray = ranking.to_numpy()
    return found


def _grown(values: LongArray, size: int, fill: int) -> LongArray:
    """At least `size` values."""
    if len(values) >= size:
        return values
    larger = np.full(max(size, len(values) * 3 // 2), fill, np.int64)
    larger[: len(values)] = values
    return larger


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
