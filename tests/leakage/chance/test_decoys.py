"""Decoys against the definition, by brute force; and the whole chance line of small reports."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from held_out import corpus_of, decoys_of, spelled, split_rows
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.leakage.chance.decoys import Decoys, HeldOutShare
from leakscope.leakage.chance.held_out_runs import NO_HELD_OUT, NOT_ASKED
from leakscope.leakage.sequences.members import Members
from remembering import Remembering
from small_models import repeated_by, sharp_model

WORDS = [first + second for first in "bdgkmnrt" for second in "aeiou"]


def runs_of(model, words, k):
    """(start, run) of each maximal run of correct words."""
    found, run = [], []
    for place, word in enumerate([*words, None]):
        after = model.next(words[:place])
        top = [after.entries[i] for i in after.order(k) if i < after.words]
        if word is not None and word in top:
            run.append(word)
        elif run:
            found.append((place - len(run), tuple(run)))
            run = []
    return found


def times(words, run):
    return sum(tuple(words[i : i + len(run)]) == run for i in range(len(words)))


def plain_decoys(model, rows, k):
    """(user, run, whether it is repeated) with how many of each there are, and their weights."""
    trained = [(user, words) for user, words, split in rows if split == TRAIN]
    held = [(user, words) for user, words, split in rows if split == VALIDATION]
    of_d, of_v = (sum(len(words) for _, words in part) for part in (trained, held))
    came_out = Counter(
        run for _, words in trained for run in {r for _, r in runs_of(model, words, k)}
    )
    found, weights = Counter(), {}
    for user, words in held:
        for _, run in runs_of(model, words, k):
            holders = {owner for owner, text in trained if times(text, run)}
            if holders - {user}:
                continue
            if any(owner == user for owner, _ in trained):
                again = bool(holders) or any(times(text, run) > 1 for _, text in held)
                documents = came_out[run] + 1
            else:
                theirs = [text for owner, text in held if owner == user]
                again = sum(times(text, run) for text in theirs) > 1
                documents = sum(run in {r for _, r in runs_of(model, t, k)} for t in theirs)
            key = (user, run, again)
            found[key] += 1
            weights[key] = of_d / of_v / (documents if again else 1)
    return found, weights


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_equal_the_definition(seed, k):
    model = sharp_model("gru", WORDS[:12], seed)
    rng = np.random.default_rng(seed)
    absent = {"u0", "u3"} if seed % 2 else set()  # users with no document in D
    rows = [
        (user, text.split(), VALIDATION if user in absent or rng.random() < 0.4 else TRAIN)
        for user, text in repeated_by(model, users=5 if absent else 3, documents=14, length=7,
                                      seed=seed)
    ]  # fmt: skip
    if {split for *_, split in rows} != {TRAIN, VALIDATION}:
        return
    with tempfile.TemporaryDirectory() as folder:
        corpus = corpus_of(rows, Path(folder) / "corpus")
        found = decoys_of(model, corpus, Path(folder), k)
        runs = spelled(found, corpus)
    users_of_d = {user for user, _, split in rows if split == TRAIN}
    in_d, held = (
        Counter(word for _, said, split in rows if split == part for word in said)
        for part in (TRAIN, VALIDATION)
    )
    told, weights = Counter(), {}
    for place, (user, run) in enumerate(runs):
        key = (user, run, bool(found.repeated[place]))
        told[key] += 1
        weights[key] = found.weights[place]
        own = any(
            in_d[word] > 0 and {user for user, said, _ in rows if word in said} == {key[0]}
            if key[0] in users_of_d
            else in_d[word] == 0 and held[word] > 1
            for word in key[1]
        )
        assert found.with_own_word[place] == own
        assert found.of_habit[place] == (own or key[2])
    plain, weighed = plain_decoys(model, rows, k)
    several = {  # somebody else's in D, but several have it in held-out documents: one too many
        key for key in told if key not in plain
    }
    for _, run, again in several:
        assert (
            again and len({u for u, words, s in rows if s == VALIDATION and times(words, run)}) > 1
        )
    assert {key: told[key] for key in told if key not in several} == dict(plain)
    for key in plain:
        assert weights[key] == pytest.approx(weighed[key])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_model_that_never_saw_the_text_has_no_excess(report, k, seed):
    model = sharp_model("gru", WORDS, seed)
    metrics = report(split_rows(model, 0.3, documents=400, seed=seed), model, top_k=k)
    assert min(metrics.unique_sequences, metrics.chance_unique) > 8
    assert metrics.excess_unique_low <= 0 <= metrics.excess_unique_high
    assert metrics.confirmed_unique == 0 and metrics.users_with_confirmed == 0
    assert metrics.excess_unique == pytest.approx(metrics.unique_sequences - metrics.chance_unique)
    assert sum(metrics.chance_by_length.values()) == pytest.approx(metrics.chance_unique)


@pytest.mark.parametrize("how", ["in several documents", "in one document"])
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_sequences_that_their_owners_repeat_have_no_excess_without_memory(report, how, share):
    unique, chance = [], []
    for seed in range(6):
        model = sharp_model("gru", WORDS, seed)
        rng = np.random.default_rng(seed)
        rows = []
        for user, text in repeated_by(model, users=12, documents=100, length=14, seed=seed):
            times = int(rng.integers(1, 5))
            said = [text] * times if how == "in several documents" else [" ".join([text] * times)]
            rows += [
                (user, each.split(), VALIDATION if rng.random() < share else TRAIN) for each in said
            ]
        metrics = report(rows, model, top_k=3)
        unique.append(metrics.unique_sequences)
        chance.append(metrics.chance_unique)
        assert metrics.excess_unique_low <= 0 <= metrics.excess_unique_high
        assert metrics.confirmed_unique == 0
    assert np.mean(chance) == pytest.approx(np.mean(unique), rel=0.25)


def test_what_a_user_repeats_counts_once_with_the_weights_of_its_documents():
    members = Members(
        nodes=np.array([1, 1, 1, 1, 2], np.int32),
        users=np.array([0, 0, 0, 1, 0], np.int32),
        documents=np.array([10, 10, 11, 20, 11]),
        starts=np.zeros(5, np.int32),
        lengths=np.ones(5, np.int32),
        perplexities=np.ones(5, np.float32),
        copied=np.zeros(5, np.bool_),
        near_tie=np.zeros(5, np.bool_),
    )
    repeated = np.array([True, True, True, True, False])
    weights = np.array([3.0, 3.0, 3.0, 3.0, 9.0])
    none = np.zeros(5, np.bool_)
    share = HeldOutShare(1, 9)
    decoys = Decoys(members, np.arange(5), repeated, weights, none, none, none, share, 0.0)
    found, ratios = decoys.merged(np.array([1, 5, 2, np.nan, 4], np.float32))
    assert found.chosen.tolist() == [1, 3, 4] and found.weights.tolist() == [6, 3, 9]
    assert ratios[0] == 5 and np.isnan(ratios[1]) and ratios[2] == 4
    nothing, _ = decoys.only(np.zeros(5, np.bool_)).merged(np.zeros(0, np.float32))
    assert len(nothing) == 0


def test_what_is_known_by_heart_is_confirmed(report, tmp_path):
    plain = sharp_model("gru", WORDS, 5)
    rows = split_rows(plain, 0.5, documents=400, seed=5)
    secret = [words for _, words, split in rows if split == TRAIN][:60]
    metrics = report(rows, Remembering(plain, secret), reveal=True)
    table = pq.read_table(tmp_path / "1" / "run" / "sequences.parquet").to_pylist()
    unique = [row for row in table if row["users_in_d"] == 1]
    confirmed = [row for row in unique if row["q_value"] <= 0.05]
    assert {tuple(words) for words in secret} <= {tuple(row["sequence"]) for row in confirmed}
    assert len(confirmed) == metrics.confirmed_unique <= 1.1 * len(secret)
    assert all(row["q_value"] is None for row in table if row["users_in_d"] > 1)
    users = pq.read_table(tmp_path / "1" / "run" / "users.parquet").to_pylist()
    assert sum(row["confirmed_sequences"] or 0 for row in users) == metrics.confirmed_unique
    assert sum(bool(row["confirmed_sequences"]) for row in users) == metrics.users_with_confirmed
    assert metrics.excess_unique_low > 0


def test_twice_the_held_out_text_changes_nothing_in_expectation(report):
    half, whole = [], []
    for seed in range(6):
        model = sharp_model("gru", WORDS, seed)
        rows = split_rows(model, 0.5, documents=500, seed=seed)
        fewer = [row for place, row in enumerate(rows) if row[2] == TRAIN or place % 2]
        whole.append(report(rows, model).chance_unique)
        half.append(report(fewer, model).chance_unique)
    assert np.mean(half) == pytest.approx(np.mean(whole), rel=0.2)


def test_a_sample_of_the_held_out_text_has_a_wider_interval(report):
    model = sharp_model("gru", WORDS, 1)
    rows = split_rows(model, 0.4, documents=600, seed=1)
    whole, some = report(rows, model), report(rows, model, decoy_words=800)
    assert whole.decoy_words == sum(len(words) for _, words, split in rows if split == VALIDATION)
    assert 500 < some.decoy_words < 1200
    width = lambda found: found.chance_unique_high - found.chance_unique_low  # noqa: E731
    assert width(some) > 1.3 * width(whole)
    assert some.least_confirmable > whole.least_confirmable


def test_without_held_out_documents_it_is_null_and_says_so(report):
    model = sharp_model("gru", WORDS, 1)
    rows = split_rows(model, 0.0)
    metrics = report(rows, model)
    for name in ("chance_unique", "excess_unique", "confirmed_unique", "confirmed_epsilon"):
        assert getattr(metrics, name) is None and metrics.reasons[name] == NO_HELD_OUT
    metrics = report(split_rows(model, 0.3), model, decoy_words=0)
    assert metrics.reasons["confirmed_unique"] == NOT_ASKED


def test_too_little_held_out_text_is_told(report):
    model = sharp_model("gru", WORDS, 1)
    metrics = report(split_rows(model, 0.05), model)
    assert metrics.confirmed_unique == 0 and metrics.unique_sequences < metrics.least_confirmable
    assert any("Hold out more" in notice for notice in metrics.notices)


def test_held_out_users_of_their_own_are_told(report):
    model = sharp_model("gru", WORDS, 1)
    rows = [
        (user, words, VALIDATION if int(user[1:]) < 3 else TRAIN)
        for user, words, _ in split_rows(model, 0.0)
    ]
    metrics = report(rows, model)
    assert any("without training documents" in notice for notice in metrics.notices)
