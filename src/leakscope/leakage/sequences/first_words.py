"""Which sequences are counted together where one trie would be too large: those with the same first
words.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscope.leakage.sequences.collect_stage import (
    DistinctRuns,
    read_distinct,
    words_of_distinct,
)
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import within_rows
from leakscope.records.splitmix import scrambled

FEW_WORDS = 1 << 24
"""So many words of sequences are weighed exactly; more by a sample."""
ONE_IN = 16
"""Of the distinct sequences, so many stand for one in that sample."""

_Hashes = npt.NDArray[np.uint64]


def first_word_parts(collected: list[Path], lexicon: int, most: int) -> IntArray | None:
    """[lexicon] into which trie the sequences with each first word go, so that none has more than
    about `most` nodes if that can be; None: one trie is enough.
    """
    words = sum(words_of_distinct(path) for path in collected)
    if words <= most:
        return None
    return parts_of(weights_of(collected, lexicon, 1 if words <= FEW_WORDS else ONE_IN), most)


def weights_of(collected: list[Path], lexicon: int, one_in: int) -> LongArray:
    """[lexicon] about how many words the distinct sequences with each first word have together; at
    least 1 if there is one.
    """
    present = np.zeros(lexicon, np.bool_)
    known = np.zeros((3, 0), np.uint64)
    waiting, size = [known], 0
    for path in collected:
        for some in read_distinct(path, lexicon):
            present[some.heads] = True
            hashes = _hashes(some)
            rows = np.flatnonzero(hashes % np.uint64(one_in) == 0)
            lengths = np.diff(some.offsets)
            waiting.append(np.stack([hashes, some.heads, lengths])[:, rows].astype(np.uint64))
            size += len(rows)
        if size > max(1 << 20, known.shape[1]):  # forget what stands there twice
            known = _distinct(waiting)
            waiting, size = [known], 0
    _, heads, lengths = _distinct(waiting).astype(np.int64)
    weights = np.bincount(heads, weights=lengths, minlength=lexicon).astype(np.int64) * one_in
    return np.maximum(weights, present)


def _hashes(some: DistinctRuns) -> _Hashes:
    """[d] a number for each sequence, the same for the same words."""
    lengths = np.diff(some.offsets)
    places = within_rows(lengths).astype(np.uint64)
    mixed = scrambled(some.ids.astype(np.uint64) ^ scrambled(places))
    found: _Hashes = scrambled(np.add.reduceat(mixed, some.offsets[:-1]))
    return found


def _distinct(rows: list[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    every = np.concatenate(rows, axis=1)
    return every[:, np.unique(every[0], return_index=True)[1]]


def parts_of(weights: LongArray, most: int) -> IntArray:
    """[lexicon] the part that each first word belongs to: runs of words whose `weights` are at most
    `most` together, or one word that alone has more.
    """
    found, part, total = np.zeros(len(weights), np.int32), 0, 0
    for word in np.flatnonzero(weights).tolist():
        weight = int(weights[word])
        if total and total + weight > most:
            part, total = part + 1, 0
        total += weight
        found[word] = part
    return found
