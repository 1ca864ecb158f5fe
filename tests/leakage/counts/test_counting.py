"""The trie and its walk against brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.counts.counting import Counter, count
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents

words = st.integers(0, 2)
texts = st.lists(st.tuples(st.integers(0, 3), st.lists(words, max_size=15)), max_size=8)
sequences = st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=12)


def flat(lists):
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in lists])]).astype(np.int64)
    return np.array([word for item in lists for word in item], np.int32), offsets


def matches(text, sequence):
    width = len(sequence)
    return sum(text[i : i + width] == sequence for i in range(len(text) - width + 1))


def brute_force(corpus, sequence):
    found = [(user, matches(text, sequence)) for user, text in corpus]
    return sum(n for _, n in found), len({user for user, n in found if n})


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


@given(texts, sequences, st.integers(1, 4), st.integers(1, 3))
def test_counts_equal_brute_force(corpus, items, parts, threads):
    corpus = sorted(corpus, key=lambda row: row[0])
    trie = Trie.empty(3)
    nodes = trie.insert(*flat(items))
    shards = [[row for row in corpus if row[0] % parts == part] for part in range(parts)]
    found = count(trie, [[Documents.of(shard)] for shard in shards], threads)
    for node, sequence in zip(nodes, items, strict=True):
        expected = brute_force(corpus, sequence)
        assert (int(found.total[node]), int(found.users[node])) == expected


@given(texts, sequences)
def test_a_user_may_continue_in_the_next_chunk(corpus, items):
    corpus = sorted(corpus, key=lambda row: row[0])
    trie = Trie.empty(3)
    nodes = trie.insert(*flat(items))
    counter = Counter(trie)
    for row in corpus:
        counter.add(Documents.of([row]))
    for node, sequence in zip(nodes, items, strict=True):
        expected = brute_force(corpus, sequence)
        assert (int(counter.counts().total[node]), int(counter.counts().users[node])) == expected


@pytest.mark.parametrize("size", [1, 1000, 30_000])
def test_many_sequences_grow_the_table(size):
    rng = np.random.default_rng(size)
    items = [rng.integers(0, 50, rng.integers(1, 9)).tolist() for _ in range(size)]
    trie = Trie.empty(50)
    halves = items[: size // 2], items[size // 2 :]
    nodes = np.concatenate([trie.insert(*flat(half)) for half in halves])
    assert trie.nodes == len({tuple(s[:n]) for s in items for n in range(len(s) + 1)})
    assert [trie.sequence(int(node)) for node in nodes[-100:]] == items[-100:]


def test_all_users_with_the_same_text_and_long_repeats():
    corpus = [(user, [0] * 50) for user in range(20)]
    trie = Trie.empty(1)
    nodes = trie.insert(*flat([[0] * n for n in range(1, 51)]))
    found = count(trie, [[Documents.of(corpus)]])
    assert found.total[nodes].tolist() == [20 * (51 - n) for n in range(1, 51)]
    assert set(found.users[nodes].tolist()) == {20}
