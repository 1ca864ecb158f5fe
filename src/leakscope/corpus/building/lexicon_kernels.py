"""Compiled: which part of a lexicon a word belongs to, and the order of words from sorted runs."""

from typing import Any

import numpy as np

from leakscope.engine.compiled import compiled


@compiled()
def note_hashes(data: Any, offsets: Any, seed: Any, hashes: Any) -> None:
    """Fill `hashes` with a byte for each word, the same for equal words."""
    for row in range(len(offsets) - 1):
        mixed = seed
        for place in range(offsets[row], offsets[row + 1]):
            mixed = (mixed ^ np.uint64(data[place])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[row] = mixed >> np.uint64(56)


@compiled()
def _comes_before(one: int, other: int, first: Any, second: Any, data: Any, offsets: Any) -> bool:
    """Whether a word has the greater first number, or the greater second one, or lower bytes."""
    if first[one] != first[other]:
        return bool(first[one] > first[other])
    if second[one] != second[other]:
        return bool(second[one] > second[other])
    at, end = offsets[one], offsets[one + 1]
    place, stop = offsets[other], offsets[other + 1]
    while at < end and place < stop:
        if data[at] != data[place]:
            return bool(data[at] < data[place])
        at += 1
        place += 1
    return bool(end - at < stop - place)


@compiled()
def _sink(heap: Any, size: int, first: Any, second: Any, data: Any, offsets: Any) -> None:
    """Bring the top of a heap of words to its place."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _comes_before(
            heap[child + 1, 0], heap[child, 0], first, second, data, offsets
        ):
            child += 1
        if not _comes_before(heap[child, 0], heap[place, 0], first, second, data, offsets):
            return
        for column in range(2):
            heap[place, column], heap[child, column] = heap[child, column], heap[place, column]
        place = child


@compiled()
def merge_some(heads: Any, first: Any, second: Any, data: Any, offsets: Any, rows: Any) -> int:
    """Fill `rows` with the next words of sorted runs, in the order of all; how many there were.

    `heads` [runs, 2] says where each run goes on and where it ends, and is brought up to date.
    """
    heap = np.empty((len(heads), 2), np.int64)  # where a run goes on, and which one it is
    size = 0
    for run in range(len(heads)):
        if heads[run, 0] == heads[run, 1]:
            continue
        at = size
        size += 1
        while at and _comes_before(
            heads[run, 0], heap[(at - 1) >> 1, 0], first, second, data, offsets
        ):
            heap[at, 0], heap[at, 1] = heap[(at - 1) >> 1, 0], heap[(at - 1) >> 1, 1]
            at = (at - 1) >> 1
        heap[at, 0], heap[at, 1] = heads[run, 0], run
    count = 0
    while size and count < len(rows):
        row, run = heap[0, 0], heap[0, 1]
        rows[count] = row
        count += 1
        heads[run, 0] = row + 1
        heap[0, 0] = row + 1
        if row + 1 == heads[run, 1]:
            size -= 1
            heap[0, 0], heap[0, 1] = heap[size, 0], heap[size, 1]
        _sink(heap, size, first, second, data, offsets)
    return count
