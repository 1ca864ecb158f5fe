"""A prefix trie of word sequences in flat arrays, so that compiled code can walk it.

Node 0 is the root; a sequence is known by the node that it ends at, so equal sequences have
equal nodes and no two others do: nothing is identified by a hash alone. Edges from the root are
an array by word; all others are an open-addressing table keyed by (node, word).
"""

from dataclasses import dataclass

import numpy as np

from leakscope.engine.compiled import compiled
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
        ends, self.nodes = _insert(
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
        offsets, ids = _spell(nodes, self.parents, self.words)
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
            _rehash(self.keys, self.children, keys, children)
            self.keys, self.children = keys, children


@compiled(inline="always")
def slot_of(key, mask):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Where the search for `key` begins: a multiplicative hash, its high bits mixed down."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))


@compiled()
def _insert(ids, offsets, roots, keys, children, parents, words, nodes):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    ends = np.zeros(len(offsets) - 1, np.int32)
    mask = len(keys) - 1
    for i in range(len(offsets) - 1):
        node = 0
        for place in range(offsets[i], offsets[i + 1]):
            word = ids[place]
            if node == 0:
                child = roots[word]
                if child == 0:
                    child = nodes
                    roots[word] = child
            else:
                key = (np.int64(node) << 32) | word
                slot = slot_of(key, mask)
                while keys[slot] != key and keys[slot] != -1:
                    slot = (slot + 1) & mask
                if keys[slot] == -1:
                    keys[slot] = key
                    children[slot] = nodes
                child = children[slot]
            if child == nodes:
                parents[nodes] = node
                words[nodes] = word
                nodes += 1
            node = child
        ends[i] = node
    return ends, nodes


@compiled()
def _rehash(keys, children, new_keys, new_children):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    mask = len(new_keys) - 1
    for i in range(len(keys)):
        if keys[i] != -1:
            slot = slot_of(keys[i], mask)
            while new_keys[slot] != -1:
                slot = (slot + 1) & mask
            new_keys[slot] = keys[i]
            new_children[slot] = children[i]


@compiled()
def _spell(nodes, parents, words):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    offsets = np.zeros(len(nodes) + 1, np.int64)
    for i in range(len(nodes)):
        node, depth = nodes[i], 0
        while node:
            node = parents[node]
            depth += 1
        offsets[i + 1] = offsets[i] + depth
    ids = np.empty(offsets[-1], np.int32)
    for i in range(len(nodes)):
        node, place = nodes[i], offsets[i + 1] - 1
        while node:
            ids[place] = words[node]
            node = parents[node]
            place -= 1
    return offsets, ids
