"""A prefix trie of word sequences in flat arrays, so that compiled code can walk it.

Node 0 is the root; a sequence is known by the node that it ends at, so equal sequences have
equal nodes and no two others do: nothing is identified by a hash alone. Edges from the root are
an array by word; all others are an open-addressing table keyed by (node, word).
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.counts import trie_kernels as kernels
from leakscope.records.documents import IntArray, LongArray

_EMPTY = np.int64(-1)


@dataclass
class Trie:
    """Grows by `insert`; n nodes."""

    roots: IntArray
    """[lexicon] the child of the root for each word; 0: none."""
    keys: LongArray
    """[capacity] node << 32 | word of an edge, or -1."""
    children: IntArray
    """[capacity] where that edge leads."""
    parents: IntArray
    """[at least n]"""
    words: IntArray
    """[at least n] the last word of each node's sequence."""
    nodes: int = 1
    deepest: int = 0
    """The number of words of the longest sequence."""

    @staticmethod
    def empty(lexicon: int) -> "Trie":
        """A trie for words below `lexicon`."""
        return Trie(
            np.zeros(lexicon, np.int32),
            np.full(1024, _EMPTY, np.int64),
            np.zeros(1024, np.int32),
            np.zeros(1024, np.int32),
            np.zeros(1024, np.int32),
        )

    def insert(self, ids: IntArray, offsets: LongArray) -> IntArray:
        """The node of each sequence ids[offsets[i] : offsets[i + 1]], adding what is missing."""
        self._reserve(len(ids))
        self.deepest = max(self.deepest, int(np.diff(offsets).max(initial=0)))
        ends, self.nodes = kernels.insert(
            ids, offsets, self.roots, self.keys, self.children, self.parents, self.words, self.nodes
        )
        return ends  # type: ignore[no-any-return]

    def sequence(self, node: int) -> list[int]:
        """The words of a node's sequence."""
        found = []
        while node:
            found.append(int(self.words[node]))
            node = int(self.parents[node])
        return found[::-1]

    def sequences(self, nodes: IntArray) -> tuple[LongArray, IntArray]:
        """The words of many nodes: node i has ids[offsets[i] : offsets[i + 1]]."""
        offsets, ids = kernels.spell(nodes, self.parents, self.words)
        return offsets, ids

    def _reserve(self, more: int) -> None:
        """Make room for `more` nodes at most; the edge table stays at most half full."""
        need = self.nodes + more
        if need > len(self.parents):
            size = max(need, 2 * len(self.parents))
            self.parents = np.resize(self.parents, size)
            self.words = np.resize(self.words, size)
        if 2 * need > len(self.keys):
            capacity = 1 << int(2 * need - 1).bit_length()
            keys = np.full(capacity, _EMPTY, np.int64)
            children = np.zeros(capacity, np.int32)
            kernels.rehash(self.keys, self.children, keys, children)
            self.keys, self.children = keys, children
