"""The trie against lists."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.counts.trie import Trie
from leakscope.records.ragged import offsets_of

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=12)


def flat(lists):
    lengths = np.array([len(item) for item in lists], np.int64)
    return np.array([word for item in lists for word in item], np.int32), offsets_of(lengths)


@given(sequences)
def test_equal_sequences_and_only_those_share_a_node(items):
    trie = Trie.empty(3)
    nodes = trie.insert(*flat(items))
    assert [trie.sequence(int(node)) for node in nodes] == items
    offsets, ids = trie.sequences(nodes)
    spelled = [ids[a:b].tolist() for a, b in pairwise(offsets)]
    assert spelled == items
    again = trie.insert(*flat(items))
    assert again.tolist() == nodes.tolist()
    assert trie.deepest == max(map(len, items))


@pytest.mark.parametrize("size", [1, 1000, 30_000])
def test_many_sequences_grow_the_table(size):
    rng = np.random.default_rng(size)
    items = [rng.integers(0, 50, rng.integers(1, 9)).tolist() for _ in range(size)]
    trie = Trie.empty(50)
    halves = items[: size // 2], items[size // 2 :]
    nodes = np.concatenate([trie.insert(*flat(half)) for half in halves])
    assert trie.nodes == len({tuple(s[:n]) for s in items for n in range(len(s) + 1)})
    assert [trie.sequence(int(node)) for node in nodes[-100:]] == items[-100:]
