"""Minimal unique windows against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.counts import minimal_windows as minimal
from leakscope.leakage.counts.minimal_windows import minimal_unique, minimal_windows
from leakscope.records.documents import Documents

words = st.integers(0, 2)
texts = st.lists(
    st.tuples(st.integers(0, 3), st.lists(words, min_size=1, max_size=9)), min_size=1, max_size=7
)


def windows(sequence):
    size = len(sequence)
    return {tuple(sequence[i:j]) for i in range(size) for j in range(i + 1, size + 1)}


def users(corpus, window):
    return {user for user, text in corpus if window in windows(text)}


def brute_force(corpus, sequences):
    found = set()
    for sequence in sequences:
        unique = {window for window in windows(sequence) if len(users(corpus, window)) == 1}
        found |= {w for w in unique if not (windows(w) - {w}) & unique}
    return sorted(found)


@st.composite
def cases(draw):
    """A corpus in user order, and some sequences that one user alone has in it."""
    corpus = sorted(draw(texts), key=lambda row: row[0])
    everything = sorted(set().union(*(windows(text) for _, text in corpus)))
    unique = [window for window in everything if len(users(corpus, window)) == 1]
    chosen = draw(st.lists(st.sampled_from(unique), max_size=6)) if unique else []
    return corpus, [list(window) for window in chosen]


@given(cases(), st.integers(1, 3), st.sampled_from([1, 20, 10_000]))
def test_minimal_windows_equal_brute_force(case, threads, walk_words):
    corpus, sequences = case

    def parts():
        return [[Documents.of([row for row in corpus if row[0] % 2 == part])] for part in range(2)]

    found = minimal_windows(sequences, 3, parts, threads, walk_words=walk_words)
    assert found == brute_force(corpus, sequences)


@given(cases())
def test_every_sequence_has_one_and_what_is_left_is_not_unique(case):
    corpus, sequences = case
    found = minimal_windows(sequences, 3, lambda: [[Documents.of(corpus)]])
    for sequence in sequences:
        assert any(window in found for window in windows(sequence))
        for window in windows(sequence):
            if not windows(window) & set(found):
                assert len(users(corpus, window)) > 1


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_sequence_without_a_short_unique_window_is_kept_whole(limit, monkeypatch):
    monkeypatch.setattr(minimal, "LONGEST", limit)
    corpus = [(0, [0, 0, 0]), (1, [0, 0, 0, 0]), (2, [1, 2])]
    sequences = [[0, 0, 0, 0], [1, 2]]
    found = minimal_windows(sequences, 3, lambda: [[Documents.of(corpus)]])
    assert found == [(0, 0, 0, 0), (1,), (2,)]


def test_in_a_corpus_of_several_shards(make_corpus):
    rows = [("ann", "my code is four seven"), ("bob", "my code is six"), ("cat", "is four a six")]
    corpus = make_corpus(rows * 3, shard_words=1)
    ids = corpus.lexicon.ids
    found = minimal_unique([[ids[w] for w in ("code", "is", "four", "seven")]], corpus, 2)
    spelled = {" ".join(corpus.lexicon.words[id] for id in window) for window in found}
    assert len(corpus.shards) == 3
    assert spelled == {"seven", "code is four"}
