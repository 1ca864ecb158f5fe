"""Batches by author: everybody once, few authors in each, little padding."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.training.regularizers.author_batches import author_order


@settings(max_examples=60)
@given(
    pieces=st.integers(1, 200),
    users=st.integers(1, 12),
    batch=st.integers(1, 17),
    each=st.integers(1, 5),
    seed=st.integers(0, 999),
)
def test_every_piece_comes_once_in_as_many_steps_as_ever(pieces, users, batch, each, seed):
    rng = np.random.default_rng(seed)
    sizes, authors = rng.integers(1, 30, pieces), rng.integers(0, users, pieces)
    order = author_order(sizes, authors, batch, each, np.random.default_rng(seed))
    assert sorted(np.concatenate(order).tolist()) == list(range(pieces))
    assert len(order) == -(-pieces // batch)
    assert all(len(step) <= batch for step in order)
    again = author_order(sizes, authors, batch, each, np.random.default_rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(order, again, strict=True))


def test_batches_have_so_many_authors_and_like_lengths():
    rng = np.random.default_rng(0)
    sizes, authors = rng.integers(1, 60, 6400), np.repeat(np.arange(50), 128)
    for each in (1, 4):
        order = author_order(sizes, authors, 32, each, np.random.default_rng(1))
        found = [len(np.unique(authors[step])) for step in order]
        assert max(found) <= each and np.mean(found) > 0.8 * each
        padded = sum(len(step) * sizes[step].max() for step in order)
        assert padded < (1.35 if each == 1 else 1.15) * sizes.sum()


def test_other_texts_of_an_author_meet_in_every_epoch():
    """Were they always the same, a model could learn to spread just these."""
    sizes = np.random.default_rng(0).permutation(np.arange(1, 321))
    authors = np.repeat(np.arange(4), 80)

    def meetings(seed):
        order = author_order(sizes, authors, 16, 4, np.random.default_rng(seed))
        return {
            (a, b)
            for step in order
            for a in step
            for b in step
            if a < b and authors[a] == authors[b]
        }

    first, second = meetings(1), meetings(2)
    assert len(first & second) < 0.4 * len(first), (len(first & second), len(first))
