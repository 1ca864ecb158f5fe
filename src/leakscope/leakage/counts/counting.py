"""Occurrences and distinct users of every sequence of a trie, in documents in user order.

One walk from each position of the text finds all sequences that begin there. A node remembers
the last user that touched it, which is all that counting distinct users takes. Users are whole
within a part, so counts of parts add up.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np

from leakscope.engine.compiled import compiled
from leakscope.leakage.counts.trie import Trie, slot_of
from leakscope.records.documents import Documents, IntArray, LongArray


@dataclass(frozen=True)
class Counts:
    """Per node of the trie (node 0, the root, stays 0)."""

    total: LongArray
    users: IntArray


class Counter:
    """Counts in a stream of documents: users may continue from one chunk into the next."""

    def __init__(self, trie: Trie) -> None:
        self._trie = trie
        self._total = np.zeros(trie.nodes, np.int64)
        self._users = np.zeros(trie.nodes, np.int32)
        self._last = np.full(trie.nodes, -1, np.int32)

    def add(self, documents: Documents) -> None:
        """Count in some more documents, whose users are not before those already seen."""
        trie = self._trie
        _walk(
            documents.ids, documents.offsets, documents.users,
            trie.roots, trie.keys, trie.children,
            self._total, self._users, self._last,
        )  # fmt: skip

    def counts(self) -> Counts:
        """What was counted so far."""
        return Counts(self._total, self._users)


def count(trie: Trie, parts: Iterable[Iterable[Documents]], threads: int = 1) -> Counts:
    """Counts over `parts`, each a stream of whole users (a shard); parts run in parallel.

    A thread takes one part after another into the same counter: users never come back.
    """
    waiting = SimpleQueue[Iterable[Documents]]()
    for part in parts:
        waiting.put(part)

    def count_some(_: int) -> Counts:
        counter = Counter(trie)
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


@compiled()
def _walk(ids, offsets, owners, roots, keys, children, total, users, last):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    mask = len(keys) - 1
    for document in range(len(owners)):
        owner = owners[document]
        stop = offsets[document + 1]
        for begin in range(offsets[document], stop):
            node = roots[ids[begin]]
            place = begin + 1
            while node != 0:
                total[node] += 1
                if last[node] != owner:
                    last[node] = owner
                    users[node] += 1
                if place == stop:
                    break
                key = (np.int64(node) << 32) | ids[place]
                slot = slot_of(key, mask)
                while keys[slot] != key and keys[slot] != -1:
                    slot = (slot + 1) & mask
                node = children[slot] if keys[slot] == key else 0
                place += 1
