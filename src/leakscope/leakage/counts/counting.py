"""Occurrences and distinct users of every sequence of a trie, in documents in user order.

A walk from each position of the text finds all short sequences that begin there. A node remembers
the last user that touched it, which is all that counting distinct users takes. Long sequences are
counted by their suffix links, so that repeated words take no more than linear time. Users are
whole within a part, so counts of parts add up.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import numpy as np

from leakscope.leakage.counts import trie_kernels as kernels
from leakscope.leakage.counts.suffix_links import SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents, IntArray, LongArray

SETTLED_AT_ONCE = 1 << 20  # visits of complete users, 8 bytes each, kept until so many wait

TALLY_BYTES = 16
"""What the counts of a node take."""


@dataclass(frozen=True)
class Counts:
    """Per node of the trie (node 0, the root, stays 0)."""

    total: LongArray
    users: IntArray


@dataclass
class _Visits:
    """Distinct pairs (user << 32 | rank of a deep node) that wait to be settled, user by user."""

    complete: list[LongArray] = field(default_factory=list)
    """Of users who do not go on."""
    size: int = 0
    """How many pairs those are."""
    current: list[LongArray] = field(default_factory=list)
    """Of the last user, who may go on."""

    def add(self, pairs: LongArray) -> None:
        """Some more pairs, at least one."""
        users = pairs >> 32
        if self.current and self.current[0][0] >> 32 != users[-1]:
            self._completed(*self.current)
            self.current = []
        others = np.flatnonzero(users != users[-1])
        cut = int(others[-1]) + 1 if len(others) else 0
        self._completed(pairs[:cut])
        self.current.append(pairs[cut:])

    def _completed(self, *pairs: LongArray) -> None:
        self.complete += pairs
        self.size += sum(map(len, pairs))

    def take_complete(self) -> LongArray:
        """The pairs of users who do not go on, which wait no longer."""
        found = np.concatenate(self.complete)
        self.complete, self.size = [], 0
        return found


class Counter:
    """Counts in a stream of documents: users may continue from one chunk into the next."""

    def __init__(self, trie: Trie, links: SuffixLinks) -> None:
        self._trie = trie
        self._links = links
        # For each node its total, then users << 32 | 1 + the last user: one cache line has both.
        self._tallies = np.zeros(2 * trie.nodes, np.int64)
        self._deep_users = np.zeros(trie.nodes if links.deep else 0, np.int32)
        self._visits = _Visits()

    def add(self, documents: Documents) -> None:
        """Count in some more documents; users who went before the last one do not come back."""
        trie, links = self._trie, self._links
        starts = kernels.walk(
            documents.ids, documents.offsets, documents.users,
            trie.roots, trie.slots, trie.marks, trie.edges, links.shallow, links.deep,
            self._tallies,
        )  # fmt: skip
        if not len(starts):
            return
        pairs = kernels.follow(
            starts, documents.ids, documents.offsets, documents.users,
            trie.slots, trie.edges, links.links, links.ranks, links.shallow, self._tallies,
        )  # fmt: skip
        if len(pairs):
            self._visits.add(pairs)
        if self._visits.size >= SETTLED_AT_ONCE:
            links.settle(self._visits.take_complete(), self._deep_users)

    def counts(self) -> Counts:
        """What was counted so far; counting may go on."""
        total = self._tallies[0::2].copy()
        users = (self._tallies[1::2] >> 32).astype(np.int32)
        if self._links.deep:
            users += self._deep_users
        pairs = [*self._visits.complete, *self._visits.current]
        if pairs:
            self._links.settle(np.concatenate(pairs), users)
        self._links.sum_up(total, users)
        return Counts(total, users)


def count(trie: Trie, parts: Iterable[Iterable[Documents]], threads: int = 1) -> Counts:
    """Counts over `parts`, each a stream of whole users (a shard); parts run in parallel.

    A thread takes one part after another into the same counter: users never come back.
    """
    waiting = SimpleQueue[Iterable[Documents]]()
    for part in parts:
        waiting.put(part)
    links = SuffixLinks.of(trie)

    def count_some(_: int) -> Counts:
        counter = Counter(trie, links)
        while True:
            try:
                part = waiting.get_nowait()
            except Empty:
                return counter.counts()
            for documents in part:
                counter.add(documents)

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(count_some, range(threads)))
    for other in found[1:]:
        np.add(found[0].total, other.total, out=found[0].total)
        np.add(found[0].users, other.users, out=found[0].users)
    return found[0]
