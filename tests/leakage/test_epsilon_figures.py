"""The leakage epsilon by length, in nats, and its interval against drawing users again."""

import math
from dataclasses import fields

import numpy as np
import pytest

from leakscope.leakage.counts.trie_parts import TrieParts
from leakscope.leakage.epsilon_figures import (
    _least_of_resampled,
    doubts_about_epsilon,
    epsilon_figures,
)
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.scrutiny.public_surprise import Ratios
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.members import Members
from leakscope.records.runs.run_metrics import Metrics


def counted(lengths, users_in_d, owners):
    """One occurrence for each sequence, with its owner."""
    empty = np.zeros(len(lengths), np.int32)
    known = {
        "lengths": np.array(lengths, np.int32),
        "users_in_d": np.array(users_in_d, np.int32),
        "of_member": np.arange(len(lengths), dtype=np.int32),
    }
    sequences = Sequences(**{field.name: empty for field in fields(Sequences)} | known)
    members = Members(
        **{field.name: empty for field in fields(Members)} | {"users": np.array(owners, np.int32)}
    )
    return CountedSequences(TrieParts(1, ()), members, sequences)


def judged(ratios, public):
    members = np.arange(len(ratios))
    found = Ratios(members, np.array(public, np.float32), np.array(ratios, np.float32))
    return UniqueFindings(ratios=found)


def doubts(some, findings, confirmed=None):
    figures = epsilon_figures(some, findings)
    metrics = Metrics.model_construct(
        leakage_epsilon_sequence=figures.leakage_epsilon_sequence.value,
        leakage_epsilon_words=figures.leakage_epsilon_words.value,
        confirmed_epsilon_sequence=confirmed,
    )
    return doubts_about_epsilon(metrics, some, findings)


def test_by_length_in_nats_and_who_sets_it():
    found = epsilon_figures(
        counted([1, 3, 3, 2], [1, 1, 1, 5], [0, 1, 2, 3]),
        judged([20.0, 4.0, 100.0, np.nan], [50.0] * 4),
    )
    assert found.leakage_epsilon.value == 100.0
    assert (found.leakage_epsilon_sequence.value, found.leakage_epsilon_words.value) == (2, 3)
    assert found.leakage_epsilon_nats.value == pytest.approx(math.log(100))
    assert found.leakage_epsilon_by_length.value == {1: 20.0, 3: 100.0}


def test_the_interval_is_what_drawing_users_again_gives():
    rng = np.random.default_rng(0)
    largest = rng.lognormal(2, 2, 60).astype(np.float32)
    drawn = [rng.choice(largest, 60).max() for _ in range(20_000)]
    assert _least_of_resampled(largest) == pytest.approx(np.quantile(drawn, 0.025), rel=0.05)
    assert np.quantile(drawn, 0.975) == largest.max()


def test_few_users_have_no_lower_end():
    found = epsilon_figures(
        counted([2] * 30, [1] + [2] * 29, range(30)), judged([9.0] * 30, [9.0] * 30)
    )
    assert found.leakage_epsilon_low.value is None and found.leakage_epsilon_low.reason


def test_a_single_word_that_the_public_model_hardly_knows_is_told():
    some = counted([1, 3], [1, 1], [0, 1])
    (told,) = doubts(some, judged([1e7, 4.0], [2e7, 9.0]))
    assert "single word" in told and "5e-08" in told and "confirmed sequences" in told
    (both,) = doubts(some, judged([1e7, 4.0], [2e7, 9.0]), confirmed=0)
    assert both.startswith("The leakage epsilon and the confirmed epsilon are set by a single word")
    assert both.endswith("Look at the epsilon by length.")
    assert doubts(some, judged([50.0, 4.0], [90.0, 9.0])) == ()
    assert doubts(some, judged([3.0, 4e7], [90.0, 9e7])) == ()
    assert doubts(some, UniqueFindings()) == ()
