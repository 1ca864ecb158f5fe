"""The search against brute force: small vocabularies, every kind of word-level model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.lexicon import Lexicon
from leakscope.records.errors import LeakscopeError
from leakscope.updates.beam_search import search
from leakscope.updates.differential_rank import exact_rank, rank_in_beam
from leakscope.updates.entry_scores import score_entries
from leakscope.updates.model_pair import BLOCK, ModelPair
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.search_plan import SearchPlan
from plain_differences import brute_force, plain_score
from scripted import ScriptedModel
from small_models import SMALL, sharp_model

RULES = {
    "plain": ScoreRule(),
    "relative": ScoreRule(relative=True, floor=1e-3),
    "top 3": ScoreRule(top_k=3),
    "relative top 2": ScoreRule(relative=True, floor=0.01, top_k=2),
}
WORDS = ["a", "b", "c", "d", "e"]


def pair_of(kind: str, words=WORDS, seed: int = 0) -> ModelPair:
    return ModelPair(sharp_model(kind, words, seed), sharp_model(kind, words, seed + 100))


def spelled(beam, pair) -> list[tuple[str, ...]]:
    return [tuple(pair.entries[entry] for entry in row) for row in beam.entries.tolist()]


@pytest.mark.parametrize("kind", list(SMALL))
@pytest.mark.parametrize("rule", list(RULES))
def test_a_beam_of_all_sequences_is_brute_force(kind, rule):
    pair = pair_of(kind)
    plan = SearchPlan(length=3, width=len(WORDS) ** 3, halving=False)
    beams = search(pair, plan, RULES[rule])
    for length, beam in enumerate(beams, start=1):
        every = brute_force(pair.old, pair.new, length, RULES[rule])
        found = dict(zip(spelled(beam, pair), beam.scores.tolist(), strict=True))
        assert found.keys() == every.keys()
        for said, score in every.items():
            assert found[said] == pytest.approx(score, rel=1e-4, abs=1e-5)
        assert (np.diff(beam.scores) <= 0).all()


def search_all(pair: ModelPair, length: int, rule: ScoreRule):
    """Every sequence: the width is that of the longest ones."""
    plan = SearchPlan(length=length, width=len(pair.entries) ** length, halving=False)
    return search(pair, plan, rule)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 6),
    length=st.integers(2, 4),
    kind=st.sampled_from(list(SMALL)),
    rule=st.sampled_from(list(RULES)),
    groups=st.integers(1, 3),
    block=st.sampled_from([1, 16, BLOCK]),
)
def test_a_halved_beam_has_exact_scores_and_bounds_the_rank(
    seed, size, length, kind, rule, groups, block
):
    words = [f"w{i}" for i in range(size)]
    pair, asked = pair_of(kind, words, seed), RULES[rule]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leakscope.updates.model_pair.BLOCK", block)
        beams = search(pair, SearchPlan(length=length, width=size, groups=groups), asked)
        every = brute_force(pair.old, pair.new, length, asked)
        beam = beams[-1]
        for said, score in zip(spelled(beam, pair), beam.scores.tolist(), strict=True):
            assert score == pytest.approx(every[said], rel=1e-3, abs=1e-4)
            true = sum(other > score + 1e-4 * max(1, abs(score)) for other in every.values())
            assert rank_in_beam(beam, score).value <= true + _ties(every, score)
            found = exact_rank(pair, length, score, asked)
            assert found.method == "exact"
            assert true <= found.value <= true + _ties(every, score)


def _ties(every, score: float) -> int:
    return sum(abs(other - score) <= 1e-4 * max(1, abs(score)) for other in every.values())


def test_groups_partition_the_first_entries():
    words = [f"w{i}" for i in range(10)]
    pair = pair_of("lstm", words, 5)
    beams = search(pair, SearchPlan(length=3, width=10, groups=3), ScoreRule())
    one = beams[0]
    assert sorted(one.entries[:, 0].tolist()) == list(range(10))
    by_group = [one.scores[one.groups == group] for group in range(3)]
    assert [len(scores) for scores in by_group] == [4, 3, 3]
    assert by_group[0].min() >= by_group[1].max() >= by_group[2].max()
    firsts = [set(one.entries[one.groups == group, 0].tolist()) for group in range(3)]
    for beam in beams[1:]:
        for group in range(3):
            assert set(beam.entries[beam.groups == group, 0].tolist()) <= firsts[group]
            assert (beam.groups == group).any()
        assert (np.diff(beam.scores) <= 0).all()


@pytest.mark.parametrize("kind", list(SMALL))
def test_a_known_prefix_is_conditioning_by_hand(kind):
    pair, prefix = pair_of(kind, seed=7), ["c", "a"]
    beam = search(pair, SearchPlan(length=2, width=5, halving=False), ScoreRule(), prefix)[1]
    for said, score in zip(spelled(beam, pair), beam.scores.tolist(), strict=True):
        assert score == pytest.approx(
            plain_score(pair.old, pair.new, said, ScoreRule(), prefix), abs=1e-5
        )
    bare = search(pair, SearchPlan(length=2, width=5, halving=False), ScoreRule())[1]
    assert bare.scores.tolist() != pytest.approx(beam.scores.tolist(), abs=1e-3)


@pytest.mark.parametrize("kind", list(SMALL))
def test_a_model_against_itself_has_no_score(kind):
    model = sharp_model(kind, WORDS, 2)
    for beam in search(ModelPair(model, model), SearchPlan(length=3, width=5), ScoreRule()):
        assert not beam.scores.any()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(list(SMALL)))
def test_no_score_is_greater_than_the_length(seed, kind):
    pair = pair_of(kind, seed=seed)
    for length, beam in enumerate(search_all(pair, 3, ScoreRule()), start=1):
        assert (np.abs(beam.scores) <= length).all()
        np.testing.assert_allclose((beam.new - beam.old).sum(1), beam.scores, atol=1e-5)


def test_scores_by_hand():
    """p(x) rises from 0.2 to 0.5, and p(y | x) from 0.1 to 0.9."""
    lexicon = Lexicon(["x", "y"], np.zeros(2, np.int64), np.zeros(2, np.int64))
    old = ScriptedModel(lexicon, {(): {"x": 0.2, "y": 0.1}, ("x",): {"x": 0.3, "y": 0.1}})
    new = ScriptedModel(lexicon, {(): {"x": 0.5, "y": 0.1}, ("x",): {"x": 0.05, "y": 0.9}})
    pair = ModelPair(old, new)
    one, two = search(pair, SearchPlan(length=2, width=4, halving=False), ScoreRule())
    assert spelled(one, pair) == [("x",), ("y",)]
    assert one.scores.tolist() == pytest.approx([0.3, 0.0])
    assert spelled(two, pair)[0] == ("x", "y")
    assert two.scores[0] == pytest.approx(0.3 + 0.8)
    assert two.old[0].tolist() == pytest.approx([0.2, 0.1])
    assert two.new[0].tolist() == pytest.approx([0.5, 0.9])
    relative = ScoreRule(relative=True)
    best = search(pair, SearchPlan(length=2, width=4, halving=False), relative)[1]
    assert best.scores[0] == pytest.approx(0.3 / 0.2 + 0.8 / 0.1)
    floored = score_entries(pair, [[0, 1]], ScoreRule(relative=True, floor=0.4))
    assert floored.scores[0] == pytest.approx(0.3 / 0.4 + 0.8 / 0.4)


def test_a_word_that_only_the_newer_model_knows_was_impossible_before():
    old, new = sharp_model("gru", ["b", "c", "a"], 1), sharp_model("gru", ["a", "b", "c", "d"], 2)
    pair = ModelPair(old, new)
    beam = search_all(pair, 2, ScoreRule())[1]
    found = dict(zip(spelled(beam, pair), beam.scores.tolist(), strict=True))
    every = brute_force(old, new, 2, ScoreRule())
    assert found.keys() == every.keys()
    for said, score in every.items():
        assert found[said] == pytest.approx(score, abs=1e-5)
    row = spelled(beam, pair).index(("a", "d"))
    assert beam.old[row, 1] == 0


def test_models_without_a_common_word_are_refused():
    pair = ModelPair(sharp_model("gru", ["a"]), sharp_model("gru", ["b"]))
    with pytest.raises(LeakscopeError, match="no word in common"):
        search(pair, SearchPlan(length=1, width=1), ScoreRule())


@pytest.mark.parametrize("broken", ["old", "new"])
def test_damaged_weights_are_noticed(broken):
    pair = pair_of("gru")
    getattr(pair, broken).network.output.weight[2] = float("nan")
    with pytest.raises(LeakscopeError, match=f"The {broken} model's probabilities are not numbers"):
        search(pair, SearchPlan(length=2, width=5), ScoreRule())


def test_an_exact_rank_that_would_take_too_long_is_not_given():
    pair = pair_of("gru")
    assert exact_rank(pair, 4, -4.0, ScoreRule(), most_rows=10) is None
    assert exact_rank(pair, 4, -4.0, ScoreRule()).value == len(WORDS) ** 4


def test_equal_scores_go_by_the_order_of_the_beam_and_then_by_entry():
    """An attacker who sees one entry finds zeros nearly everywhere."""
    pair = pair_of("lstm", seed=11)
    rule = ScoreRule(top_k=1)
    beam = search(pair, SearchPlan(length=2, width=5, halving=False), rule)[1]
    first = search(pair, SearchPlan(length=1, width=5), rule)[0].entries[:, 0].tolist()
    keys = [
        (-score, first.index(row[0]), row[1])
        for score, row in zip(beam.scores.tolist(), beam.entries.tolist(), strict=True)
    ]
    assert len({score for score, *_ in keys}) < len(keys) and keys == sorted(keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leakscope.updates.model_pair.BLOCK", 1)
        again = search(pair, SearchPlan(length=2, width=5, halving=False), rule)[1]
    assert np.array_equal(beam.entries, again.entries)
