"""Duplicates against all pairs, compared plainly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.cleaning.duplicates import (
    KEPT,
    exact_duplicates,
    lowered,
    near_duplicates,
    shingle_set,
    similarity,
)
from leakscope.corpus.cleaning.minhash import RECALL, band_keys, bands_for
from leakscope.corpus.lexicon import Lexicon
from leakscope.records.documents import Documents

short = st.lists(st.integers(0, 2), min_size=1, max_size=4)
rows = st.lists(st.tuples(st.integers(0, 3), short), max_size=30).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)


def plain_shingles(ids, size):
    return {tuple(ids[i : i + size]) for i in range(max(1, len(ids) - size + 1))}


def jaccard(one, other, size):
    a, b = plain_shingles(one, size), plain_shingles(other, size)
    return len(a & b) / len(a | b)


@given(rows, st.booleans())
def test_exact_equals_a_dictionary(pairs, across):
    first, expected = {}, []
    for index, (user, ids) in enumerate(pairs):
        key = tuple(ids) if across else (user, *ids)
        expected.append(first.get(key, KEPT))
        first.setdefault(key, index)
    assert exact_duplicates(Documents.of(pairs), across_users=across).tolist() == expected


def edited(draw, ids, vocabulary, edits):
    ids = list(ids)
    for place in draw.integers(0, len(ids), edits):
        ids[place] = int(draw.integers(vocabulary))
    return ids


def corpus_of(seed, users=8, each=25, vocabulary=400):
    """Random documents, half of them copies of earlier ones with some words changed."""
    draw = np.random.default_rng(seed)
    made = []
    for user in range(users):
        for _ in range(each):
            if made and draw.random() < 0.5:
                source = made[int(draw.integers(len(made)))][1]
                made.append((user, edited(draw, source, vocabulary, int(draw.integers(0, 5)))))
            else:
                size = int(draw.integers(1, 80))
                made.append((user, draw.integers(0, vocabulary, size).tolist()))
    return made


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize(("threshold", "shingle"), [(0.8, 3), (0.5, 5), (0.6, 1), (1.0, 2)])
def test_near_finds_true_pairs_only_and_nearly_all_of_them(across, threshold, shingle):
    wanted = found = 0
    for seed in range(4):
        made = corpus_of(seed)
        original = near_duplicates(
            Documents.of(made),
            across_users=across,
            threshold=threshold,
            shingle=shingle,
            seed=seed,
        )
        kept = [index for index in range(len(made)) if original[index] == KEPT]
        for index, (user, ids) in enumerate(made):
            if (other := int(original[index])) != KEPT:
                assert other < index and original[other] == KEPT
                assert jaccard(ids, made[other][1], shingle) >= threshold
                assert across or made[other][0] == user
            close = min(1.0, threshold + 0.05)
            if any(
                jaccard(ids, made[other][1], shingle) >= close
                for other in kept
                if other < index and (across or made[other][0] == user)
            ):
                wanted += 1
                found += original[index] != KEPT
    assert wanted > 20 and found >= 0.95 * wanted


@settings(max_examples=50)
@given(rows, st.integers(1, 4), st.booleans())
def test_near_at_similarity_one_equals_sets(pairs, shingle, across):
    """At threshold 1 nothing is left to chance: equal sets have equal signatures."""
    original = near_duplicates(
        Documents.of(pairs), across_users=across, threshold=1.0, shingle=shingle, seed=0
    )
    first, expected = {}, []
    for index, (user, ids) in enumerate(pairs):
        key = (None if across else user, frozenset(plain_shingles(ids, shingle)))
        expected.append(first.get(key, KEPT))
        first.setdefault(key, index)
    assert original.tolist() == expected


@given(short, short, st.integers(1, 3))
def test_similarity_equals_plain_sets(one, other, size):
    sets = [shingle_set(np.array(ids, np.int32), size) for ids in (one, other)]
    assert set(sets[0]) == plain_shingles(one, size)
    assert similarity(*sets) == jaccard(one, other, size)


def test_keys_depend_on_the_document_and_seed_only():
    made = corpus_of(1)
    documents = Documents.of(made)
    options = {"shingle": 3, "threshold": 0.8}
    keys = band_keys(documents.ids, documents.offsets, seed=1, **options)
    alone = Documents.of(made[7:8])
    assert (band_keys(alone.ids, alone.offsets, seed=1, **options)[0] == keys[7]).all()
    assert (band_keys(documents.ids, documents.offsets, seed=2, **options) != keys).any()


def test_batches_do_not_change_the_keys(monkeypatch):
    documents = Documents.of(corpus_of(2))
    options = {"shingle": 3, "threshold": 0.8, "seed": 0}
    keys = band_keys(documents.ids, documents.offsets, **options)
    monkeypatch.setattr("leakscope.corpus.cleaning.minhash._BATCH_WORDS", 50)
    assert (band_keys(documents.ids, documents.offsets, **options) == keys).all()


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.8, 0.95, 1.0])
def test_bands_keep_the_recall(threshold):
    bands, rows = bands_for(threshold)
    assert bands * rows <= 128
    assert 1 - (1 - threshold**rows) ** bands >= RECALL


def test_case_does_not_count():
    none = np.zeros(4, np.int64)
    lexicon = Lexicon(["The", "cat", "the", "CAT"], none, none)
    documents = Documents.of([(0, [0, 1]), (1, [2, 3]), (1, [1, 1])])
    assert lowered(documents, lexicon).ids.tolist() == [0, 1, 0, 1, 1, 1]
