"""Words and their numbers, in the order in which they are first seen: a table that grows."""

import os

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.corpus.building.word_kernels import (
    ARENA_FULL,
    DONE,
    IDS_FULL,
    TYPES_FULL,
    number_all,
    number_words,
    refill,
)
from leakscope.corpus.parts.character_classes import character_tables
from leakscope.engine.spilled_array import SpilledArray
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of

Bytes = npt.NDArray[np.uint8]
_BLOCK = 1 << 22  # words at a time


class WordTable:
    """Numbers words. Memory grows with the distinct words alone."""

    def __init__(self) -> None:
        # Whoever wrote the text does not know it, so no text makes the table slow.
        self._seed = np.uint64(int.from_bytes(os.urandom(8), "big"))
        self._slots = np.zeros(1 << 13, np.uint64)
        self._arena = np.empty(1 << 14, np.uint8)
        self._starts = np.zeros((1 << 11) + 1, np.int64)
        self._size = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._size[0])

    @property
    def state(self) -> tuple[np.uint64, npt.NDArray[np.uint64], Bytes, LongArray, LongArray]:
        """What the kernels take for a table."""
        return self._seed, self._slots, self._arena, self._starts, self._size

    def words(self) -> pa.LargeBinaryArray:
        """All words by number, sharing memory with the table."""
        size = len(self)
        starts = self._starts[: size + 1]
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(self._arena[: starts[-1]])]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), size, buffers)

    def finished(self) -> pa.LargeBinaryArray:
        """All words by number. The table finds none of them any more, and is small."""
        words = self.words()
        self._slots = np.zeros(0, np.uint64)
        return words

    def number(self, data: Bytes, offsets: LongArray) -> LongArray:
        """The numbers of words that lie one after the other in `data`; new ones if need be."""
        found = np.empty(len(offsets) - 1, np.int64)
        done = 0
        while (done := done + number_all(data, offsets[done:], *self.state, found[done:])) < len(
            found
        ):
            self.grow(int(offsets[done + 1] - offsets[done]))
        return found

    def grow(self, word: int) -> None:
        """Make room for more types, and for a word of so many bytes."""
        size = len(self)
        used = int(self._starts[size])
        if used + word > len(self._arena):
            arena = np.empty(max(used + used // 2, used + word + (1 << 12)), np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena
        if 4 * (size + 1) > len(self._slots) or size + 1 >= len(self._starts):
            starts = np.zeros(len(self._slots) // 2 + 1, np.int64)
            starts[: size + 1] = self._starts[: size + 1]
            self._starts = starts
            self._slots = np.zeros(2 * len(self._slots), np.uint64)
            refill(self._slots, self._seed, self._arena, self._starts, size)


def numbered_words(
    table: WordTable,
    data: Bytes,
    offsets: LongArray,
    *,
    lowercase: bool,
    spill: SpilledArray | None = None,
) -> tuple[IntArray, LongArray]:
    """The words of documents by their numbers in `table`, and where each document's begin [n + 1].

    Document i is the valid UTF-8 in `data` from `offsets[i]` to `offsets[i + 1]`. With `spill`,
    the words of one document are on disk.
    """
    pending = WordTable()
    tables = (*character_tables(), lowercase)
    room = max(16, int(offsets[-1] - offsets[0]) // 4)
    ids = np.empty(room if spill is None else min(room, _BLOCK), np.int32)
    ends = np.zeros(len(offsets), np.int64)
    cursor = np.array([0, offsets[0], 0, 0], np.int64)
    while True:
        why = number_words(data, offsets, tables, table.state, pending.state, cursor, ids, ends[1:])
        if why == DONE:
            break
        if why != IDS_FULL:
            (table if why in (TYPES_FULL, ARENA_FULL) else pending).grow(int(cursor[3]))
        elif spill is not None:
            spill.append(ids)
            cursor[2] = 0
        else:
            larger = np.empty(len(ids) + len(ids) // 2, np.int32)
            larger[: len(ids)] = ids
            ids = larger
    found = ids[: cursor[2]]
    if spill is not None:
        spill.append(found)
        ends[-1] = len(spill)
        found = spill.mapped()
    if len(pending):
        _lower_by_definition(found, pending, table)
    return found, ends


def _lower_by_definition(ids: IntArray, pending: WordTable, table: WordTable) -> None:
    """Replace the words of `pending` by the numbers of their lower case as Python gives it."""
    lowered = [word.as_py().decode().lower().encode() for word in pending.words()]
    sizes = np.array([len(word) for word in lowered], np.int64)
    numbers = table.number(np.frombuffer(b"".join(lowered), np.uint8), offsets_of(sizes))
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        odd = np.flatnonzero(block < 0)
        block[odd] = numbers[-1 - block[odd]]
