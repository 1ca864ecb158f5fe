"""The units of privacy in a training text: which pieces belong to which user (or document)."""

import hashlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from leakscope.records.documents import Documents, LongArray
from leakscope.records.ragged import offsets_of, within_rows
from leakscope.records.splitmix import Unsigned, scrambled
from leakscope.training.dp.protected_unit import Unit


@dataclass(frozen=True)
class Units:
    """The pieces of a `TrainingText` by their users (or documents); n units, p pieces."""

    offsets: LongArray
    """[n + 1] unit i has the pieces offsets[i] to offsets[i + 1]; at least one."""
    sizes: LongArray
    """[p] predictions of each piece."""
    keys: Unsigned
    """[n] a number made of the lengths of the unit's own documents alone."""

    def __len__(self) -> int:
        return len(self.keys)


def units_of(documents: Documents, max_words: int, unit: Unit) -> Units:
    """The units of a `TrainingText` made of the same documents with the same `max_words`."""
    sizes = documents.lengths() + 1  # the end of a document is predicted, too
    counts = -(-sizes // max_words)
    piece_sizes = np.minimum(np.repeat(sizes, counts) - within_rows(counts) * max_words, max_words)
    starts = np.arange(len(documents), dtype=np.int64)  # the first document of each unit
    if unit == "user":
        starts = np.flatnonzero(np.diff(documents.users, prepend=documents.users[:1] - 1))
    bounds = np.concatenate([starts, [len(documents)]]).astype(np.int64)
    return Units(offsets_of(counts)[bounds], piece_sizes.astype(np.int64), _keys(documents, bounds))


def mixed(seed: int, step: int, keys: Unsigned, nth: LongArray) -> Unsigned:
    """[p] pseudo-random numbers, a function of seed, step, key and number (splitmix64)."""
    value = np.full(len(keys), seed, np.uint64)
    for word in (np.uint64(step), keys, nth.astype(np.uint64)):
        value = scrambled(value ^ word)
    return value


def _keys(documents: Documents, bounds: LongArray) -> Unsigned:
    """A digest of how much text each unit has in which document. Not of the words: their numbers
    hang on what all users wrote.
    """
    keys = np.empty(len(bounds) - 1, np.uint64)
    for i, (start, stop) in enumerate(pairwise(bounds)):
        offsets = documents.offsets[start : stop + 1]
        digest = hashlib.blake2b((offsets - offsets[0]).tobytes(), digest_size=8)
        keys[i] = int.from_bytes(digest.digest(), "little")
    return keys
