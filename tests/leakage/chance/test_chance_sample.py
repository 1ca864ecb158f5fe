"""Which decoys count, and against which sequences."""

from dataclasses import replace

import numpy as np
import pytest

from leakscope.leakage.chance.chance_sample import PublicOpinion, of_held_out
from leakscope.leakage.chance.decoys import Decoys, HeldOutShare, holding
from leakscope.leakage.sequences.members import Members

PLAIN, KNOWN, REPEATED = range(3)


@pytest.fixture
def decoys():
    """One with nothing of its user's own, one with a word that its user alone has, one repeated."""
    members = Members(
        nodes=np.array([1, 2, 3], np.int32),
        users=np.zeros(3, np.int32),
        documents=np.array([10, 11, 12]),
        starts=np.zeros(3, np.int32),
        lengths=np.array([2, 5, 4], np.int32),
        perplexities=np.ones(3, np.float32),
        copied=np.zeros(3, np.bool_),
        near_tie=np.zeros(3, np.bool_),
    )
    flags = [np.arange(3) == which for which in (REPEATED, KNOWN)]
    none = np.zeros(9, np.bool_)
    return Decoys(
        members,
        np.arange(3),
        flags[0],
        np.full(3, 4.0),
        flags[1],
        np.zeros(3, np.bool_),
        none,
        HeldOutShare(5, 20),
        0.0,
    )


def test_all_count_without_a_model_that_never_saw_the_user(decoys):
    sample = of_held_out(decoys, None)
    assert sample.lengths.tolist() == [2, 5, 4] and sample.ratios is None
    assert sample.of_habit.tolist() == sample.maybe_memory.tolist() == [False, True, True]
    assert (sample.weight, sample.words, sample.source) == (4.0, 5, "held-out")
    outside = of_held_out(decoys, PublicOpinion(np.array([1, 2, 3], np.float32), None))
    assert outside.ratios.tolist() == [1, 2, 3]
    assert outside.of_habit.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("predicts", "kept"),
    [([0, 0, 0], [PLAIN]), ([0, 1, 0], [PLAIN, KNOWN]), ([1, 0, 1], [PLAIN, REPEATED])],
)
def test_what_may_be_memory_counts_if_a_model_without_the_user_predicts_it(decoys, predicts, kept):
    said = PublicOpinion(np.array([1, 2, 3], np.float32), np.array(predicts, np.bool_))
    sample = of_held_out(decoys, said)
    assert sample.lengths.tolist() == decoys.lengths[kept].tolist()
    assert sample.ratios.tolist() == said.ratios[kept].tolist()
    assert sample.of_habit is None and not sample.maybe_memory.any()  # one list


def test_nothing_is_memory_of_users_whom_the_model_never_saw(decoys):
    absent = replace(decoys, absent=np.ones(3, np.bool_))
    said = PublicOpinion(np.array([1, 2, 3], np.float32), np.zeros(3, np.bool_))
    assert of_held_out(absent, said).lengths.tolist() == [2, 5, 4]
    sample = of_held_out(absent, None)
    assert sample.of_habit.tolist() == [False, True, True] and not sample.maybe_memory.any()


def test_holding():
    some = np.array([False, True, False])
    ids, offsets = np.array([0, 2, 1, 0, 2], np.int32), np.array([0, 2, 4, 4, 5])
    assert holding(some, offsets, ids).tolist() == [False, True, False, False]
