"""Distinct words with their counts: those that fit into memory at a time, in their order."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.build_settings import LexiconOrder
from leakscope.corpus.building.word_table import Bytes, WordTable
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
