"""Poisson sampling of users: frequencies, independence, caps, and who can change what."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.privacy_units import units_of
from leakscope.training.dp.sampling import InsecureUsers, PoissonSampler, SystemUsers, user_source
from leakscope.training.steps.batches import TrainingText

SOURCES = [SystemUsers(), InsecureUsers(5)]


def documents_of(lengths_by_user, base=0):
    """Users with documents of these lengths; every word is another."""
    rows, word = [], base
    for user, lengths in enumerate(lengths_by_user):
        for length in lengths:
            rows.append((user, list(range(word, word + length))))
            word += length
    return Documents.of(rows)


def sampler_of(documents, rate=0.3, words=10, *, max_words=4, unit="user", source=None, seed=0):
    units = units_of(documents, max_words, unit)
    return PoissonSampler(units, rate, words, seed=seed, source=source or InsecureUsers(1))


@pytest.mark.parametrize("source", SOURCES)
def test_every_user_is_drawn_with_the_same_frequency_and_independently(source):
    users, steps, rate = 40, 4000, 0.3
    sampler = sampler_of(documents_of([[2]] * users), rate, source=source)
    there = np.zeros((steps, users))
    for step in range(steps):
        drawn = sampler.draw(step).units
        assert len(np.unique(drawn)) == len(drawn)  # no user twice
        there[step, drawn] = 1
    deviation = math.sqrt(rate * (1 - rate) / steps)
    assert np.abs(there.mean(0) - rate).max() < 5.5 * deviation
    # Users do not depend on each other, nor a step on the one before it.
    pairs = np.corrcoef(there.T)[np.triu_indices(users, 1)]
    assert np.abs(pairs).max() < 6 / math.sqrt(steps)
    again = [np.corrcoef(there[1:, i], there[:-1, i])[0, 1] for i in range(users)]
    assert np.abs(again).max() < 6 / math.sqrt(steps)
    # The size of a step is binomial, not fixed.
    sizes = there.sum(1)
    assert sizes.mean() == pytest.approx(sampler.expected, rel=0.02)
    assert sizes.var() == pytest.approx(users * rate * (1 - rate), rel=0.15)


def test_the_expected_size_does_not_depend_on_the_draw():
    sampler = sampler_of(documents_of([[2]] * 30), 0.1, source=SystemUsers())
    seen = {sampler.expected}
    for step in range(20):
        sampler.draw(step)
        seen.add(sampler.expected)
    assert seen == {0.1 * 30}


def test_rate_one_draws_everybody_and_a_tiny_rate_mostly_nobody():
    documents = documents_of([[2]] * 50)
    for source in SOURCES:
        assert sampler_of(documents, 1.0, source=source).draw(0).units.tolist() == list(range(50))
    nobody = sampler_of(documents, 1e-12, source=SystemUsers()).draw(0)
    assert len(nobody) == 0
    assert nobody.offsets.tolist() == [0]
    assert nobody.pieces.dtype == np.int64
    assert len(nobody.pieces) == len(nobody.sizes) == 0


def test_the_systems_draws_are_not_repeated_and_a_seeds_are():
    documents = documents_of([[2]] * 200)
    secret = sampler_of(documents, 0.5, source=user_source(None))
    assert secret.draw(0).units.tolist() != secret.draw(0).units.tolist()
    seeded = sampler_of(documents, 0.5, source=user_source(3))
    assert seeded.draw(0).units.tolist() == seeded.draw(0).units.tolist()
    assert seeded.draw(0).units.tolist() != seeded.draw(1).units.tolist()


LENGTHS = st.lists(st.lists(st.integers(1, 15), min_size=1, max_size=6), min_size=1, max_size=8)


@given(LENGTHS, st.integers(1, 40), st.integers(1, 6), st.integers(0, 5))
def test_what_a_user_gives_is_capped_and_its_own(lengths, cap, max_words, step):
    documents = documents_of(lengths)
    units = units_of(documents, max_words, "user")
    drawn = sampler_of(documents, 1.0, cap, max_words=max_words).draw(step)
    assert drawn.units.tolist() == list(range(len(lengths)))
    for i, own in enumerate(lengths):
        mine = slice(drawn.offsets[i], drawn.offsets[i + 1])
        pieces, sizes = drawn.pieces[mine], drawn.sizes[mine]
        has = sum(length + 1 for length in own)
        assert sizes.sum() == min(cap, has)  # all that the cap allows
        assert (sizes > 0).all()
        assert len(set(pieces.tolist())) == len(pieces)
        assert set(pieces.tolist()) <= set(range(units.offsets[i], units.offsets[i + 1]))
        whole = units.sizes[pieces]
        assert (sizes[:-1] == whole[:-1]).all()  # only the last may be cut
        assert sizes[-1] <= whole[-1]


@given(LENGTHS, st.integers(1, 6))
def test_units_have_the_pieces_of_the_training_text(lengths, max_words):
    documents = documents_of(lengths)
    text = TrainingText(documents.ids, documents.offsets, 999, max_words)
    for unit in ("user", "document"):
        units = units_of(documents, max_words, unit)
        assert units.sizes.tolist() == text._sizes.tolist()
        assert units.offsets[-1] == len(text._sizes)
    plain, at = [0], 0
    for own in lengths:
        at += sum(-(-(length + 1) // max_words) for length in own)
        plain.append(at)
    assert units_of(documents, max_words, "user").offsets.tolist() == plain


def test_a_document_can_be_its_own_unit():
    documents = documents_of([[3, 9], [2]])
    units = units_of(documents, 4, "document")
    assert units.offsets.tolist() == [0, 1, 4, 5]
    drawn = sampler_of(documents, 1.0, 100, unit="document").draw(0)
    assert len(drawn) == 3


@given(LENGTHS, st.data())
def test_another_user_changes_nothing_of_what_a_user_gives(lengths, data):
    """The neighbour of the definition: one user removed. All others give the same words."""
    if len(lengths) < 2:
        return
    gone = data.draw(st.integers(0, len(lengths) - 1))
    documents = documents_of(lengths)
    kept = np.flatnonzero(documents.users != gone)
    everybody, neighbour = documents, documents.take(kept)
    with_it, without = (
        words_by_user(some, sampler_of(some, 1.0, 7).draw(3)) for some in (everybody, neighbour)
    )
    with_it.pop(gone)
    assert with_it == without


def words_by_user(documents, drawn, max_words=4):
    """The words that each user gives, in order, by the plainest reading of a `Draw`."""
    pieces = []
    for i in range(len(documents)):
        words = [*documents.words_of(i).tolist(), "end"]
        for start in range(0, len(words), max_words):
            pieces.append((int(documents.users[i]), words[start : start + max_words]))
    given_words = {}
    for i in range(len(drawn)):
        for j in range(drawn.offsets[i], drawn.offsets[i + 1]):
            user, words = pieces[drawn.pieces[j]]
            given_words.setdefault(user, []).append(words[: drawn.sizes[j]])
    return given_words


def test_all_of_a_user_is_used_in_time_and_in_changing_order():
    sampler = sampler_of(documents_of([[20]]), 1.0, 4)
    firsts = [int(sampler.draw(step).pieces[0]) for step in range(600)]
    counts = np.bincount(firsts, minlength=6)
    assert counts.min() > 60  # 100 each are expected
    other = sampler_of(documents_of([[20]]), 1.0, 4, seed=1)
    assert firsts != [int(other.draw(step).pieces[0]) for step in range(600)]


@pytest.mark.parametrize(("rate", "words"), [(0.0, 5), (1.1, 5), (-0.1, 5), (0.5, 0)])
def test_what_makes_no_sense_is_refused(rate, words):
    with pytest.raises(LeakscopeError):
        sampler_of(documents_of([[2]]), rate, words)
