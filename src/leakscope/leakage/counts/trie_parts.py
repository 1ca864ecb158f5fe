"""The sequences of S by their nodes, in one trie or in several that were counted one after another.

Tries are split by first word, so that no sequence begins in two of them, and nodes are numbered
through.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.counts import edge_kernels as kernels
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of

NODE_BYTES = 64
"""What a node takes where it is counted, at most: the table of edges and marks, the edge, counts,
and links if it is deep."""


@dataclass(frozen=True)
class TrieParts:
    """Tries that grow no more, as their edges alone."""

    lexicon: int
    edges: tuple[LongArray, ...]
    """Of each part the edges of its nodes, the root's included."""

    @property
    def bases(self) -> LongArray:
        """[p + 1] what is added to the nodes of each part; its first one is 1."""
        return offsets_of(np.array([len(edges) - 1 for edges in self.edges], np.int64))

    @property
    def nodes(self) -> int:
        """How many nodes there are, with one root."""
        return int(self.bases[-1]) + 1

    def sequences(self, nodes: IntArray) -> tuple[LongArray, IntArray]:
        """The words of many nodes: node i has ids[offsets[i] : offsets[i + 1]]."""
        if len(self.edges) == 1:
            offsets, ids = kernels.spell(nodes, self.edges[0])
            return offsets, ids
        bases = self.bases
        part_of = np.searchsorted(bases, nodes, side="left") - 1  # node 0 is in none: -1
        lengths = np.zeros(len(nodes), np.int64)
        found = []
        for part, edges in enumerate(self.edges):
            rows = np.flatnonzero(part_of == part)
            offsets, ids = kernels.spell((nodes[rows] - bases[part]).astype(np.int32), edges)
            lengths[rows] = np.diff(offsets)
            found.append((rows, ids))
        offsets = offsets_of(lengths)
        every = np.zeros(int(offsets[-1]), np.int32)
        for rows, ids in found:
            every[places_of(offsets[rows], lengths[rows])] = ids
        return offsets, every

    def find(self, ids: IntArray, offsets: LongArray) -> IntArray:
        """The node of each sequence ids[offsets[i] : offsets[i + 1]], 0 where there is none."""
        found = np.zeros(len(offsets) - 1, np.int32)
        for base, edges in zip(self.bases[:-1].tolist(), self.edges, strict=True):
            here = Trie.of_edges(edges, self.lexicon).find(ids, offsets)
            found[here > 0] = here[here > 0] + base
        return found

    def vocabulary(self) -> IntArray:
        """The words of all sequences, each once, rising."""
        present = np.zeros(self.lexicon, np.bool_)
        for edges in self.edges:
            present[edges[1:] & 0xFFFFFFFF] = True
        return np.flatnonzero(present).astype(np.int32)
