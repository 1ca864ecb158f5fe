"""Which users are worked on together: ranges of user hashes, across all parts that were read.

A piece takes a bounded part of the memory. A user with more than that is cut into several pieces,
by documents.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscope.corpus.parts.giant_texts import is_giant
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.row_columns import flat
from leakscope.records.documents import LongArray

Hashes = npt.NDArray[np.uint64]
_BITS = 16
_BINS = 1 << _BITS
_SHIFT = np.uint64(64 - _BITS)
_ROW = 64  # bytes that a document takes besides its text


class RowSlice(NamedTuple):
    """Rows `start` to `stop` of one record batch of a part."""

    part: int
    batch: int
    start: int
    stop: int


@dataclass(frozen=True)
class UserPiece:
    """Documents of whole users, or of a part of one."""

    slices: tuple[RowSlice, ...]
    giant: int | None = None
    """Which of the users with several pieces it belongs to."""
    before: int = 0
    """How many documents of that user are in the pieces before it."""

    @property
    def continues(self) -> bool:
        """Whether its first user is the last one of the piece before."""
        return self.before > 0


class _Batch(NamedTuple):
    part: int
    number: int
    rows: int


def user_pieces(parts: list[Path], size: int) -> list[UserPiece]:
    """All rows of the parts in pieces of about `size` bytes, in the order of user hashes."""
    batches, weights = _weighed(parts)
    edges, giants = _edges(parts, batches, weights, size)
    slices: list[list[RowSlice]] = [[] for _ in edges[1:]]
    for batch in batches:
        hashes, _ = _hashes(parts, batch)
        bounds = [*np.searchsorted(hashes, edges[:-1]).tolist(), batch.rows]
        for place, (start, stop) in enumerate(pairwise(bounds)):
            if start < stop:
                slices[place].append(RowSlice(batch.part, batch.number, start, stop))
    found: list[UserPiece] = []
    for low, rows in zip(edges[:-1].tolist(), slices, strict=True):
        if low in giants:
            found += _cut(parts, rows, giants.index(low), size)
        elif rows:
            found.append(UserPiece(tuple(rows)))
    return found


def _weighed(parts: list[Path]) -> tuple[list[_Batch], LongArray]:
    """All record batches, and how many bytes there are for each value of the leading bits."""
    weights = np.zeros(_BINS, np.int64)
    batches = []
    for part, path in enumerate(parts):
        with opened_part(path) as found:
            rows = [batch.num_rows for batch, _ in found]
        for number, count in enumerate(rows):
            if count:
                batches.append(_Batch(part, number, count))
                hashes, sizes = _hashes(parts, batches[-1])
                bins = (hashes >> _SHIFT).astype(np.int64)
                weights += np.bincount(bins, sizes, _BINS).astype(np.int64)
    return batches, weights


def _hashes(parts: list[Path], batch: _Batch) -> tuple[Hashes, LongArray]:
    """The hashes of a batch, and the bytes that each of its rows takes."""
    with opened_part(parts[batch.part]) as found:
        rows, _ = found[batch.number]
        sizes = np.diff(flat(rows["text"])[1]) + np.diff(flat(rows["user"])[1]) + _ROW
        return rows["hash"].to_numpy().copy(), sizes


def _edges(
    parts: list[Path], batches: list[_Batch], weights: LongArray, size: int
) -> tuple[Hashes, list[int]]:
    """Where pieces begin, and the end; and the hashes with more than a piece, each of which begins
    one that holds nothing else.
    """
    starts = [0]
    giants: list[int] = []
    group = (np.cumsum(weights) - weights) // max(size, 1)
    heavy = weights > size
    changes = np.flatnonzero((np.diff(group) > 0) | heavy[1:] | heavy[:-1]) + 1
    for bin in changes.tolist():
        starts.append(bin << int(_SHIFT))
    for bin in np.flatnonzero(heavy).tolist():
        inside, more = _inside(parts, batches, bin, size)
        starts += inside
        giants += more
    return np.array([*sorted(set(starts)), (1 << 64) - 1], np.uint64), giants


def _inside(
    parts: list[Path], batches: list[_Batch], bin: int, size: int
) -> tuple[list[int], list[int]]:
    """The same within one value of the leading bits."""
    totals: dict[int, int] = {}
    low = bin << int(_SHIFT)
    for batch in batches:
        hashes, sizes = _hashes(parts, batch)
        bounds = np.array([low, low + ((1 << int(_SHIFT)) - 1)], np.uint64)
        start = int(np.searchsorted(hashes, bounds[0]))
        stop = int(np.searchsorted(hashes, bounds[1], side="right"))
        if start == stop:
            continue
        users, first = np.unique(hashes[start:stop], return_index=True)
        sums = np.add.reduceat(sizes[start:stop], first)
        for user, total in zip(users.tolist(), sums.tolist(), strict=True):
            totals[user] = totals.get(user, 0) + total
    starts, giants, held = [], [], 0
    for user in sorted(totals):
        if totals[user] > size:
            giants.append(user)
            starts += [user, min(user + 1, (1 << 64) - 1)]
            held = 0
        else:
            if held + totals[user] > size:
                starts.append(user)
                held = 0
            held += totals[user]
    return starts, giants


def _cut(parts: list[Path], rows: list[RowSlice], giant: int, size: int) -> list[UserPiece]:
    """The rows of one user in pieces of about `size` bytes."""
    found: list[UserPiece] = []
    taken: list[RowSlice] = []
    held = documents = before = 0
    for part, batch, start, stop in rows:
        _, sizes = _hashes(parts, _Batch(part, batch, 0))
        ends = np.cumsum(sizes[start:stop])
        at, base = start, 0
        while at < stop:
            room = max(size - held, 1)
            after = start + int(np.searchsorted(ends, base + room)) + 1
            after = min(after, stop)
            if is_giant(int(sizes[after - 1])):  # gets a piece of its own, so that nobody copies it
                if after - at > 1:
                    after -= 1
                elif taken:
                    found.append(UserPiece(tuple(taken), giant, before))
                    before, taken, held = documents, [], 0
            taken.append(RowSlice(part, batch, at, after))
            held += int(ends[after - 1 - start]) - base
            documents += after - at
            at, base = after, int(ends[after - 1 - start])
            if held >= size:
                found.append(UserPiece(tuple(taken), giant, before))
                before, taken, held = documents, [], 0
    if taken:
        found.append(UserPiece(tuple(taken), giant, before))
    return found
