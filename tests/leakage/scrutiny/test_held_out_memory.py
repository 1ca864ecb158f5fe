"""Word pairs that stand in one document alone, against a plain reference."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.asking.document_sample import ScoredSample, drawn
from leakscope.leakage.scrutiny.held_out_memory import CompletedPairs, memory_of, suspicion
from leakscope.records.documents import Documents, Scores

texts = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8)


def sample(rows: list[list[int]], ranks: np.random.Generator) -> ScoredSample:
    documents = Documents.of([(0, row) for row in rows])
    rank = ranks.integers(0, 2, len(documents.ids)).astype(np.int32)
    none = np.zeros(len(rank), np.float32)
    return ScoredSample(documents, Scores(rank, none, none, none > 0))


def plain(found: ScoredSample, others: list[list[list[int]]]) -> tuple[int, int, int]:
    """Documents with pairs that stand in none of their `others`, the pairs, and the right ones."""
    with_pairs = pairs = right = 0
    for index in range(len(found.documents)):
        words = found.documents.words_of(index).tolist()
        ranks = found.scores.rank[slice(*found.documents.offsets[index : index + 2])].tolist()
        elsewhere = {pair for other in others[index] for pair in pairwise(other)}
        seen, before = set(), pairs
        for place, pair in enumerate(pairwise(words), 1):
            if pair not in seen and pair not in elsewhere:
                pairs += 1
                right += ranks[place] == 0
            seen.add(pair)
        with_pairs += pairs > before
    return with_pairs, pairs, right


@given(trained=texts, held=texts, seed=st.integers(0, 9))
def test_pairs_of_one_document_are_those_of_the_plain_reference(trained, held, seed):
    rng = np.random.default_rng(seed)
    training, held_out = sample(trained, rng), sample(held, rng)
    split = len(trained) // 2
    stream = [training.documents.part(0, split), training.documents.part(split, len(trained))]
    found = memory_of(training, held_out, stream)
    others = (
        [trained[:index] + trained[index + 1 :] for index in range(len(trained))],
        [trained] * len(held),
    )
    for got, given_sample, rest in zip(found, (training, held_out), others, strict=True):
        documents, pairs, right = plain(given_sample, rest)
        assert got.documents == documents
        if documents > 1:
            assert got.share == pytest.approx(right / pairs)


def test_what_is_suspicious():
    by_heart = CompletedPairs(40, 0.9, 0.02)
    assert suspicion(by_heart, CompletedPairs(40, 0.88, 0.02))
    assert suspicion(by_heart, CompletedPairs(40, 0.82, 0.02))  # within chance of it
    assert not suspicion(by_heart, CompletedPairs(40, 0.7, 0.02))  # not as well
    assert not suspicion(by_heart, CompletedPairs(9, 0.9, 0.02))  # too few to tell
    for share in (0.05, 0.3, 0.5):  # as good on text that it never saw, without knowing it
        assert not suspicion(CompletedPairs(400, share, 0.01), CompletedPairs(400, share, 0.01))
    assert not suspicion(by_heart, CompletedPairs(12, 0.7, 0.2))  # perhaps by chance


def test_a_sample_is_drawn_evenly_and_about_so_large():
    documents = Documents.of([(index, [index] * (1 + index % 3)) for index in range(300)])
    stream = [documents.part(start, start + 50) for start in range(0, 300, 50)]
    times = np.zeros(300)
    for seed in range(300):
        found = drawn(stream, 60, np.random.default_rng(seed))
        assert 60 <= len(found.ids) < 63 and (np.diff(found.numbers) > 0).all()
        times[found.numbers] += 1
    # About 30 of 300 documents, each as likely: 30 times of 300, give or take.
    assert times.min() > 12 and times.max() < 52
    whole = drawn(stream, 10**6, np.random.default_rng(0))
    assert (whole.numbers == documents.numbers).all() and (whole.ids == documents.ids).all()
