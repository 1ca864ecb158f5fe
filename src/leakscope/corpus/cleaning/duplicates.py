"""Documents that repeat an earlier one, exactly or nearly.

Documents are compared as sequences of lower-cased word numbers. This takes four bytes per
training word and a few hundred bytes per document.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np

from leakscope.corpus.cleaning.minhash import Words64, band_keys
from leakscope.corpus.lexicon import Lexicon
from leakscope.records.documents import Documents, IntArray, LongArray

KEPT = -1
_REMEMBERED = 8192  # shingle sets kept at hand while documents are compared

Shingles = frozenset[tuple[int, ...]]


def lowered(documents: Documents, lexicon: Lexicon) -> Documents:
    """The documents with each id replaced by that of the first word with the same lower case."""
    first: dict[str, int] = {}
    canonical = np.array(
        [first.setdefault(word.lower(), id) for id, word in enumerate(lexicon.words)], np.int32
    )
    ids = canonical[documents.ids]
    return Documents(documents.users, documents.numbers, documents.offsets, ids)


def exact_duplicates(documents: Documents, *, across_users: bool) -> LongArray:
    """[n] for each document KEPT, or the index of the first equal one (of the same user, unless
    `across_users`).
    """
    digests = np.empty((len(documents), 16), np.uint8)
    for index in range(len(documents)):
        salt = b"" if across_users else int(documents.users[index]).to_bytes(8, "big")
        data = documents.words_of(index).tobytes()
        digests[index] = np.frombuffer(
            hashlib.blake2b(data, digest_size=16, salt=salt).digest(), np.uint8
        )
    _, firsts, groups = np.unique(
        digests.view(np.uint64), axis=0, return_index=True, return_inverse=True
    )
    original = firsts[groups.ravel()].astype(np.int64)
    original[original == np.arange(len(documents))] = KEPT
    return original


def near_duplicates(
    documents: Documents,
    *,
    across_users: bool,
    threshold: float,
    shingle: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> LongArray:
    """[n] for each document KEPT, or the index of the first kept one that is similar to it.

    Similar: the Jaccard similarity of the sets of `shingle` words in a row is at least
    `threshold`. Candidates come from MinHash, which may miss a few pairs; each one is verified.
    """
    n = len(documents)
    original = np.full(n, KEPT, np.int64)
    if n < 2:
        return original
    keys = band_keys(
        documents.ids, documents.offsets, shingle=shingle, threshold=threshold, seed=seed
    )
    groups = _shared_groups(keys, None if across_users else documents.users)
    kept: dict[int, list[int]] = {}

    @lru_cache(_REMEMBERED)
    def shingles(index: int) -> Shingles:
        return shingle_set(documents.words_of(index), shingle)

    waiting = np.flatnonzero((groups >= 0).any(axis=1)).tolist()
    for done, index in enumerate(waiting):
        if progress is not None and done % 1024 == 0:
            progress(done, len(waiting))
        mine = [group for group in groups[index].tolist() if group >= 0]
        candidates = sorted({other for group in mine for other in kept.get(group, ())})
        first = _first_similar(shingles(index), map(shingles, candidates), threshold)
        if first is not None:
            original[index] = candidates[first]
            continue
        for group in mine:
            kept.setdefault(group, []).append(index)
    return original


def shingle_set(ids: IntArray, shingle: int) -> Shingles:
    """All runs of `shingle` words; the whole document if it is shorter."""
    words = ids.tolist()
    if len(words) < shingle:
        return frozenset([tuple(words)])
    return frozenset(zip(*(words[place:] for place in range(shingle)), strict=False))


def similarity(one: Shingles, other: Shingles) -> float:
    """The Jaccard similarity of two sets that are not empty."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _first_similar(mine: Shingles, others: Iterable[Shingles], threshold: float) -> int | None:
    for place, other in enumerate(others):
        small, large = sorted((len(mine), len(other)))
        # The sizes alone rule most out.
        if small >= threshold * large and similarity(mine, other) >= threshold:
            return place
    return None


def _shared_groups(keys: Words64, users: IntArray | None) -> LongArray:
    """[n, bands] a number for each set of documents with one key in a band (and one user, if
    `users` are given), KEPT where a document is alone. No number is used in two bands.
    """
    groups = np.full(keys.shape, KEPT, np.int64)
    used = 0
    for band in range(keys.shape[1]):
        column = keys[:, band]
        order = np.lexsort((column,) if users is None else (column, users))
        changes = column[order][1:] != column[order][:-1]
        if users is not None:
            changes |= users[order][1:] != users[order][:-1]
        number = np.concatenate([[0], np.cumsum(changes)])
        shared = np.bincount(number)[number] > 1
        groups[order[shared], band] = used + number[shared]
        used += int(number[-1]) + 1
    return groups
