"""The bound from one run: its p-value against the plainest computation and against simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakscope
from leakscope.auditing.canaries.bound_gate import BoundGate
from leakscope.canaries.one_run import bound_epsilon, coin_scores, guess, lower_bound, p_value


def plain_p_value(coins, guesses, correct, odds, delta):
    """Theorem 5.2, term by term in fractions; `odds` is e^epsilon."""
    q = Fraction(odds) / (1 + Fraction(odds))
    chance = [math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    beta = sum(chance[correct:])
    terms = [sum(chance[max(correct - i, 0) : correct]) / i for i in range(1, coins + 1)]
    return min(beta + 2 * coins * Fraction(delta) * max(terms), 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_p_value_is_the_theorems(data):
    coins = data.draw(st.integers(1, 30))
    guesses = data.draw(st.integers(0, coins))
    correct = data.draw(st.integers(0, guesses))
    odds = data.draw(st.sampled_from([1, 2, 5, 20]))
    delta = data.draw(st.sampled_from([Fraction(0), Fraction(1, 10_000), Fraction(1, 100)]))
    expected = float(plain_p_value(coins, guesses, correct, odds, delta))
    found = p_value(coins, guesses, correct, math.log(odds), float(delta))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_randomized_response_is_bounded_as_promised(epsilon):
    """It answers truly with odds e^epsilon, and is as informative as epsilon-DP can be."""
    rng = np.random.default_rng(7)
    above, close = 0, []
    for _ in range(100):
        inside = rng.integers(2, size=400).astype(bool)
        true = rng.random(400) < 1 / (1 + math.exp(-epsilon))
        scores = np.where(true, inside, ~inside) + 0.01 * rng.random(400)
        bounds = [each.epsilon_lower for each in bound_epsilon(scores, inside, 0.0)]
        above += max(bounds) > epsilon
        close.append(max(bounds))
    assert above <= 11  # at most 5 % of 100, with luck
    assert np.mean(close) > 0.4 * epsilon


def test_delta_lowers_the_bound():
    bounds = [lower_bound(500, 100, 95, delta, 0.05) for delta in (0.0, 1e-6, 1e-4, 1e-2)]
    assert bounds == sorted(bounds, reverse=True) and bounds[0] > bounds[-1] >= 0
    assert lower_bound(500, 100, 50, 0.0, 0.05) == 0.0
    best = lower_bound(1000, 1000, 1000, 0.0, 0.05)
    assert best == pytest.approx(math.log(1 / (0.05 ** (-1 / 1000) - 1)), abs=1e-6)  # q^r = 0.05


def test_guesses_abstain_in_the_middle():
    scores = np.array([5.0, 4.0, np.nan, 0.0, -1.0, -2.0])
    inside = np.array([True, False, True, False, True, False])
    assert guess(scores, inside, 2) == 2  # in, out
    assert guess(scores, inside, 3) == 2
    assert guess(scores, inside, 5) == 2


def test_too_few_coins_are_refused():
    with pytest.raises(leakscope.LeakscopeError, match="19 canaries"):
        bound_epsilon(np.zeros(19), np.zeros(19, bool), 1e-5)
    with pytest.raises(leakscope.LeakscopeError, match="fewer --guesses"):
        bound_epsilon(np.zeros(30), np.zeros(30, bool), 1e-5, guesses=31)


def test_canaries_without_coins_are_refused(planted):
    with pytest.raises(leakscope.LeakscopeError, match="No coins"):
        coin_scores(planted.model("plain"), planted.manifest)


@pytest.fixture(scope="module")
def tossed(tmp_path_factory):
    """A text in which 120 users were in or out, and what a training without DP made of it."""
    from planted import data_rows, write_jsonl

    folder = tmp_path_factory.mktemp("tossed")
    source = write_jsonl(folder / "data.jsonl", data_rows(users=4))
    leakscope.canary.plant(
        source, folder / "out", coins="user", canaries=120, schedule="6", template="{words:4}",
        controls=0, validation=0.0,
    )  # fmt: skip
    leakscope.train(
        folder / "out" / "corpus", folder / "model", arch="gru", hidden=64, embedding=32, epochs=20,
        optimizer="adam", learning_rate=0.01, batch_size=32, threads=1,
    )  # fmt: skip
    return folder


def test_a_training_without_dp_is_found_out(tossed, tmp_path):
    report = leakscope.canary.bound(
        tossed / "model", tossed / "out", tmp_path / "b", claimed=1.0, delta=1e-5
    )
    assert report.epsilon_lower > 2 and report.above_claim
    assert report.correct >= 0.95 * report.guesses and report.coins == 120
    assert "THE CLAIM DOES NOT HOLD" in report.warnings[0]
    assert "DOES NOT HOLD" in (tmp_path / "b" / "bound.html").read_text()
    assert BoundGate.parse("epsilon_lower>claimed").holds(report)
    assert not BoundGate.parse("epsilon_lower > 90").holds(report)


def test_a_claim_needs_a_delta_and_a_gate_a_claim(tossed, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="--delta"):
        leakscope.canary.bound(tossed / "model", tossed / "out", tmp_path / "b")
    report = leakscope.canary.bound(
        tossed / "model", tossed / "out", tmp_path / "b", delta=1e-5, guesses=20,
        reference=tossed / "model", other_corpus=True,
    )  # fmt: skip
    assert report.claimed is None and report.above_claim is None and report.epsilon_lower == 0
    with pytest.raises(leakscope.LeakscopeError, match="claims no epsilon"):
        BoundGate.parse("epsilon_lower>claimed").holds(report)
    with pytest.raises(leakscope.LeakscopeError, match="not a gate"):
        BoundGate.parse("epsilon>claimed")
