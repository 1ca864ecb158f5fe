"""What to block of the unique sequences: their minimal unique windows.

A window (consecutive words of a sequence) is minimal when it is unique and none of its parts is.
A sequence without its minimal windows cannot come out as a whole,
and no part of it that can still come out is unique.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents, IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of
from leakscope.records.unique import is_unique

LONGEST = 64
"""Windows longer than this are not tried."""
WALK_WORDS = 1 << 24  # put into a trie at a time, which bounds the memory of a walk over D

Parts = Callable[[], Iterable[Iterable[Documents]]]


def minimal_unique(
    sequences: Sequence[Sequence[int]], corpus: Corpus, threads: int = 1
) -> list[tuple[int, ...]]:
    """The distinct minimal unique windows of `sequences` (lexicon ids, each unique in
    the training documents), in order. A sequence without a unique window of at most
    `LONGEST` words is kept whole.
    """

    def parts() -> Iterable[Iterable[Documents]]:
        return [shard.documents() for shard in corpus.shards]

    return minimal_windows(sequences, corpus.manifest.lexicon, parts, threads)


def minimal_windows(
    sequences: Sequence[Sequence[int]],
    lexicon: int,
    parts: Parts,
    threads: int = 1,
    *,
    walk_words: int = WALK_WORDS,
) -> list[tuple[int, ...]]:
    """`minimal_unique` in the documents of `parts`, each a stream of whole users, for words below
    `lexicon`; `parts` is called for each walk over them.
    """
    found: set[tuple[int, ...]] = set()
    for some in _walks(sequences, walk_words):
        found.update(_minimal(some, lexicon, parts(), threads))
    return sorted(found)


def _walks(sequences: Sequence[Sequence[int]], most: int) -> Iterator[list[Sequence[int]]]:
    """Sequences whose windows have at most `most` words together, or one that alone has more."""
    some: list[Sequence[int]] = []
    words = 0
    for sequence in sequences:
        more = len(sequence) * min(len(sequence), LONGEST)
        if some and words + more > most:
            yield some
            some, words = [], 0
        some.append(sequence)
        words += more
    if some:
        yield some


def _minimal(
    sequences: list[Sequence[int]],
    lexicon: int,
    parts: Iterable[Iterable[Documents]],
    threads: int,
) -> Iterator[tuple[int, ...]]:
    """The minimal windows of some sequences, by one walk over the documents."""
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    flat = np.array([id for sequence in sequences for id in sequence], np.int32)
    stops = np.repeat(offsets_of(lengths)[1:], lengths)  # [w] where each word's sequence ends
    ends = np.minimum(np.arange(len(flat)) + LONGEST, stops)
    trie = Trie.empty(lexicon)
    # The longest window from each word on; the shorter ones are the nodes on its way.
    nodes = trie.insert(*_windows(flat, ends))
    users = count(trie, parts, threads).users
    nodes, ends = _shortest(nodes, ends, trie.parents, users)
    # Ends never decrease along a sequence, since a window has at least its parts' users. A window
    # with the same end as the next one has that as a part of it.
    last = np.arange(1, len(flat) + 1) == stops
    unique = nodes != 0
    following = np.append(ends[1:], 0)
    minimal = unique & (last | (ends < following) | ~np.append(unique[1:], False))
    offsets, ids = trie.sequences(np.unique(nodes[minimal]))
    for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        yield tuple(ids[low:high].tolist())
    owner = np.repeat(np.arange(len(sequences)), lengths)
    without = np.bincount(owner[unique], minlength=len(sequences)) == 0
    for index in np.flatnonzero(without & (lengths > LONGEST)).tolist():
        yield tuple(sequences[index])


def _windows(flat: IntArray, ends: LongArray) -> tuple[IntArray, LongArray]:
    """Words i to ends[i] of `flat` for each i, one after the other, and their offsets."""
    sizes = ends - np.arange(len(flat))
    return flat[places_of(np.arange(len(flat)), sizes)], offsets_of(sizes)


def _shortest(
    nodes: IntArray, ends: LongArray, parents: IntArray, users: IntArray
) -> tuple[IntArray, LongArray]:
    """(node, end) of the shortest unique window from each word on; node 0: there is none."""
    unique = is_unique(users)
    unique[0] = False
    nodes = np.where(unique[nodes], nodes, 0).astype(np.int32)
    ends = ends.copy()
    while True:
        shorter = np.flatnonzero(unique[parents[nodes]] & (nodes != 0))
        if not len(shorter):
            return nodes, ends
        nodes[shorter] = parents[nodes[shorter]]
        ends[shorter] -= 1
