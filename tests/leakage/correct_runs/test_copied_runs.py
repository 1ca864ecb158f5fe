"""The search for copies against the plain definition."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.correct_runs.copied_runs import STEPS, find_copied
from leakscope.records.ragged import offsets_of


def plain(document, start, length):
    run = document[start : start + length]
    return any(document[i : i + length] == run for i in range(start - length + 1))


@st.composite
def cases(draw):
    """Documents of few different words, and runs in them, apart from each other or not."""
    alphabet = st.integers(0, draw(st.integers(0, 4)))
    documents = draw(st.lists(st.lists(alphabet, max_size=30), min_size=1, max_size=4))
    runs = []
    for number, document in enumerate(documents):
        place = draw(st.integers(0, 4))
        while place < len(document):
            length = draw(st.integers(1, len(document) - place))
            runs.append((number, place, length))
            place += length + draw(st.integers(0, 6))
    return documents, runs


@given(cases(), st.sampled_from([0, 1, STEPS]))
def test_copies_equal_the_definition(case, steps):
    """With no steps allowed, every document that needs one is read by the automaton."""
    documents, runs = case
    offsets = offsets_of(np.array([len(document) for document in documents]))
    ids = np.array([word for document in documents for word in document], np.int32)
    first = np.array([offsets[number] + start for number, start, _ in runs], np.int64)
    lengths = np.array([length for _, _, length in runs], np.int64)
    found = find_copied(ids, offsets, first, lengths, steps)
    assert found.tolist() == [plain(documents[n], start, length) for n, start, length in runs]


def test_a_run_is_found_inside_of_a_longer_one():
    """Words 1 2 stood before within the run 3 1 2 4 only; the run 1 8 takes the chains' steps."""
    ids = np.array([1, 9, 1, 8, 7, 3, 1, 2, 4, 6, 1, 2], np.int32)
    runs = np.array([2, 5, 10]), np.array([2, 4, 2])
    for steps in (0, STEPS):
        found = find_copied(ids, np.array([0, len(ids)]), *runs, steps)
        assert found.tolist() == [False, False, True]


@pytest.mark.parametrize("width", [1, 99])
def test_repeated_words_take_linear_time(width):
    """A phrase again and again, each time with another word behind it: no run is a copy until the
    document is repeated. Chains would have thousands of millions of steps.
    """
    count = 400_000 // (width + 1)
    once = np.zeros((count, width + 1), np.int32)
    once[:, width] = np.arange(1, count + 1)
    ids = np.concatenate([once.ravel(), [count + 1], once.ravel()]).astype(np.int32)
    first = np.arange(count, dtype=np.int64) * (width + 1)
    first = np.concatenate([first, first + once.size + 1])
    begin = time.process_time()
    found = find_copied(ids, np.array([0, len(ids)]), first, np.full(len(first), width + 1))
    assert time.process_time() - begin < 20
    assert found.tolist() == [False] * count + [True] * count
