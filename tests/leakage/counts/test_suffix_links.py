"""Suffix links and their tree against the definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.counts.suffix_links import SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.records.ragged import offsets_of

sequences = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=12), min_size=1, max_size=12)


def trie_of(items):
    trie = Trie.empty(2)
    ids = np.array([word for item in items for word in item], np.int32)
    trie.insert(ids, offsets_of(np.array([len(item) for item in items], np.int64)))
    return trie


@given(sequences, st.integers(1, 5))
def test_a_link_leads_to_the_longest_suffix_that_is_long_enough(items, shallow):
    trie = trie_of(items)
    found = SuffixLinks.of(trie, shallow)
    spelled = {tuple(trie.sequence(node)): node for node in range(1, trie.nodes)}
    for sequence, node in spelled.items():
        if len(sequence) > shallow:
            suffixes = [sequence[cut:] for cut in range(1, len(sequence) - shallow + 1)]
            assert found.links[node] == next((spelled[s] for s in suffixes if s in spelled), 0)
        elif len(found.links):
            assert found.links[node] == found.ranks[node] == 0


@given(sequences, st.integers(1, 5))
def test_ranks_run_depth_first_and_heavy_paths_are_chains(items, shallow):
    trie = trie_of(items)
    found = SuffixLinks.of(trie, shallow)
    deep = [node for node in range(1, trie.nodes) if len(trie.sequence(node)) > shallow]
    assert sorted(found.nodes[1:].tolist()) == deep
    below = {rank: {rank} for rank in range(len(found.nodes))}
    for rank in range(len(deep), 0, -1):
        node = int(found.nodes[rank])
        assert found.ranks[node] == rank
        assert found.above[rank] == found.ranks[found.links[node]]
        assert found.above[rank] < rank
        below[int(found.above[rank])] |= below[rank]
        head = int(found.heads[rank])
        assert head == rank or head == found.heads[found.above[rank]]
    for rank, ranks in below.items():  # a subtree has ranks in a row
        assert ranks == set(range(rank, rank + len(ranks)))


def test_a_trie_of_short_sequences_has_no_links():
    found = SuffixLinks.of(trie_of([[0, 1, 0], [1]]), 3)
    assert len(found.links) == 0 and found.nodes.tolist() == [0]
