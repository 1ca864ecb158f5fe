"""A prefix trie of word sequences in flat arrays, so that compiled code can walk it.

Node 0 is the root; a sequence is known by the node that it ends at, so equal sequences have
equal nodes and no two others do: nothing is identified by a hash alone. Nodes are numbered in the
order in which sequences bring them. Edges from the root are an array by word; all others are an
open-addressing table of nodes, each found by the edge that leads to it. The table is four bytes an
entry and the marks are half a byte, so that a walk meets few cache lines.
"""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakscope.leakage.counts import edge_kernels
from leakscope.leakage.counts import trie_kernels as kernels
from leakscope.records.documents import IntArray, LongArray

_SMALLEST = 1024
_WORDS_AT_ONCE = 1 << 16  # room is made for so many at a time, for most of them are known already


@dataclass
class Trie:
    """Grows by `insert`; n nodes."""

    roots: IntArray
    """[lexicon] the child of the root for each word; 0: none."""
    slots: IntArray
    """[capacity] the node that an edge leads to; 0: no edge."""
    marks: npt.NDArray[np.uint64]
    """[capacity / 16] a bit is set for the hash of every edge of the table: where it is not, a word
    leads nowhere."""
    edges: LongArray
    """[at least n] parent << 32 | last word of each node's sequence."""
    nodes: int = 1
    deepest: int = 0
    """The number of words of the longest sequence."""

    @staticmethod
    def empty(lexicon: int) -> "Trie":
        """A trie for words below `lexicon`."""
        return Trie(np.zeros(lexicon, np.int32), *_table(_SMALLEST), np.zeros(_SMALLEST, np.int64))

    @staticmethod
    def of_edges(edges: LongArray, lexicon: int) -> "Trie":
        """The trie that has just these edges."""
        roots, (slots, marks) = np.zeros(lexicon, np.int32), _table(_capacity(len(edges)))
        kernels.rehash(edges, len(edges), roots, slots, marks)
        return Trie(roots, slots, marks, edges, len(edges))

    @property
    def parents(self) -> IntArray:
        """[n]"""
        return (self.edges[: self.nodes] >> 32).astype(np.int32)

    @property
    def words(self) -> IntArray:
        """[n] the last word of each node's sequence."""
        return (self.edges[: self.nodes] & 0xFFFFFFFF).astype(np.int32)

    def depths(self) -> IntArray:
        """[n] how many words each node's sequence has."""
        found: IntArray = edge_kernels.depths_of(self.edges, self.nodes)
        return found

    @property
    def digest(self) -> str:
        """Of all sequences and the numbers of their nodes."""
        return hashlib.blake2b(self.edges[: self.nodes].tobytes(), digest_size=16).hexdigest()

    def insert(self, ids: IntArray, offsets: LongArray) -> IntArray:
        """The node of each sequence ids[offsets[i] : offsets[i + 1]], adding what is missing."""
        self.deepest = max(self.deepest, int(np.diff(offsets).max(initial=0)))
        ends, low, before = np.zeros(len(offsets) - 1, np.int32), 0, self.nodes
        while low < len(ends):
            reach = int(np.searchsorted(offsets, offsets[low] + _WORDS_AT_ONCE, side="right")) - 1
            high = max(low + 1, reach)
            # Sequences to come will bring as many nodes as those so far did, or fewer.
            done, later = int(offsets[low] - offsets[0]), int(offsets[-1] - offsets[high])
            expected = later * (self.nodes - before) // max(done, 1)
            self._reserve(int(offsets[high] - offsets[low]), expected)
            ends[low:high], self.nodes = kernels.insert(
                ids, offsets[low : high + 1],
                self.roots, self.slots, self.marks, self.edges, self.nodes,
            )  # fmt: skip
            low = high
        return ends

    def find(self, ids: IntArray, offsets: LongArray) -> IntArray:
        """The node of each sequence ids[offsets[i] : offsets[i + 1]], 0 where there is none."""
        found: IntArray = kernels.find(ids, offsets, self.roots, self.slots, self.edges)
        return found

    def trimmed(self) -> "Trie":
        """The same, without room to grow for its nodes."""
        return replace(self, edges=self.edges[: self.nodes])

    def sequence(self, node: int) -> list[int]:
        """The words of a node's sequence."""
        found = []
        while node:
            edge = int(self.edges[node])
            found.append(edge & 0xFFFFFFFF)
            node = edge >> 32
        return found[::-1]

    def sequences(self, nodes: IntArray) -> tuple[LongArray, IntArray]:
        """The words of many nodes: node i has ids[offsets[i] : offsets[i + 1]]."""
        offsets, ids = edge_kernels.spell(nodes, self.edges)
        return offsets, ids

    def _reserve(self, more: int, expected: int) -> None:
        """Make room for `more` nodes at most; the edge table stays at most half full. If that takes
        a larger one, it has room for those that are `expected` later, or for as many again.
        """
        need = self.nodes + more
        if need > len(self.edges):
            edges = np.zeros(max(need, 2 * len(self.edges)), np.int64)
            edges[: self.nodes] = self.edges[: self.nodes]
            self.edges = edges
        if 2 * need > len(self.slots):
            self.slots, self.marks = _table(_capacity(need + min(expected, need)))
            kernels.rehash(self.edges, self.nodes, self.roots, self.slots, self.marks)


def _capacity(nodes: int) -> int:
    """A power of two."""
    return max(_SMALLEST, 1 << int(2 * nodes - 1).bit_length())


def _table(capacity: int) -> tuple[IntArray, npt.NDArray[np.uint64]]:
    """An empty edge table and its marks."""
    return np.zeros(capacity, np.int32), np.zeros(capacity // 16, np.uint64)
