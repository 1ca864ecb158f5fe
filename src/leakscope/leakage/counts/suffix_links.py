"""Suffix links between a trie's long sequences: Aho and Corasick's automaton (1975), below a depth.

A sequence matches wherever a longer one matches that ends with it. So it is enough to note, at each
word, the longest match that ends there, and to add up along the links at the end: the time is
linear in the words, however deep the matches are.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.counts import link_tree_kernels as tree
from leakscope.leakage.counts import trie_kernels as kernels
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import IntArray, LongArray

SHALLOW = 16
"""Sequences of up to so many words are counted by a walk from each word, the others by links. On
ordinary text hardly a walk gets that far; where matches are deep, it costs so many steps a word.
"""


@dataclass(frozen=True)
class SuffixLinks:
    """Of a trie that grows no more, with n nodes. A node of more than `shallow` words is deep. Each
    of the d deep nodes hangs from the deep node that is its longest proper suffix, or from none.
    """

    shallow: int
    links: IntArray
    """[n] for a deep node the longest proper suffix of at least `shallow` words that is a node;
    else 0. Empty: no node is deep."""
    ranks: IntArray
    """[n] for a deep node its number from 1 on, depth first along the tree; else 0. Or empty."""
    nodes: IntArray
    """[d + 1] the node of each rank."""
    above: IntArray
    """[d + 1] the rank from which each rank hangs; 0: none."""
    heads: IntArray
    """[d + 1] the first rank of each one's heavy path, to find where the ways of two ranks meet."""

    @staticmethod
    def of(trie: Trie, shallow: int = SHALLOW) -> "SuffixLinks":
        """Link the nodes of `trie` that have more than `shallow` words (at least 1)."""
        if trie.deepest <= shallow:
            none, root = np.zeros(0, np.int32), np.zeros(1, np.int32)
            return SuffixLinks(shallow, none, none, root, root, root)
        order = tree.deep_nodes(trie.depths(), shallow)
        links = kernels.link(order, trie.roots, trie.slots, trie.edges, trie.nodes, shallow)
        return SuffixLinks(shallow, links, *tree.rank_states(links, order))

    @property
    def deep(self) -> bool:
        """Whether any node is deep."""
        return len(self.nodes) > 1

    def settle(self, pairs: LongArray, users: IntArray) -> None:
        """Note in `users` [n] the visits of whole users: `pairs` (user << 32 | rank), distinct."""
        tree.settle(np.sort(pairs, kind="stable"), self.nodes, self.above, self.heads, users)

    def sum_up(self, total: LongArray, users: IntArray) -> None:
        """Make counts of deep nodes out of visits and settled users, in place."""
        if self.deep:
            tree.sum_up(self.nodes, self.above, total, users)
