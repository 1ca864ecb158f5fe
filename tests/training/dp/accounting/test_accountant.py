"""Epsilon: against another library, a closed form, and what must hold for any settings."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import doubts_about
from leakscope.training.dp.accounting.accountant import (
    accountant_name,
    default_delta,
    epsilon,
    spent,
    steps_at,
)
from leakscope.training.dp.accounting.phases import Phase

GOLDEN = json.loads((Path(__file__).parent / "golden" / "prv.json").read_text())

NOISE = st.floats(0.5, 20)
RATE = st.floats(1e-3, 1.0)
STEPS = st.integers(1, 3000)
DELTA = st.sampled_from([1e-3, 1e-5, 1e-7])
FEW = settings(max_examples=25)


def test_200_random_settings_agree_with_the_prv_accountant():
    assert len(GOLDEN["settings"]) == 200
    assert GOLDEN["made_by"].startswith("opacus 1.6.0")
    for row in GOLDEN["settings"]:
        ours = epsilon(row["noise_multiplier"], row["rate"], row["steps"], row["delta"])
        assert ours == pytest.approx(row["epsilon"], rel=0.02), row


@pytest.mark.filterwarnings("ignore:Optimal order is the largest alpha")
def test_the_golden_values_are_those_of_the_library():
    """Some of them computed anew."""
    from opacus.accountants import prv

    for row in GOLDEN["settings"][::40]:
        accountant = prv.PRVAccountant()
        accountant.history = [(row["noise_multiplier"], row["rate"], row["steps"])]
        error = max(0.01 * row["epsilon"], 1e-3)
        upper = accountant.get_epsilon(row["delta"], eps_error=error)
        assert row["epsilon"] <= upper + error
        assert upper <= row["epsilon"] + 2 * error + 1e-3


def gaussian_epsilon(mu, delta):
    """The Gaussian mechanism with sensitivity / deviation = mu (Balle & Wang, 2018, Theorem 8):
    delta = Phi(mu / 2 - eps / mu) - e^eps Phi(-mu / 2 - eps / mu), solved for eps.
    """

    def excess(eps):
        second = math.exp(eps + norm.logcdf(-mu / 2 - eps / mu))
        return norm.cdf(mu / 2 - eps / mu) - second - delta

    return 0.0 if excess(0) <= 0 else brentq(excess, 0, 500, xtol=1e-13)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("steps", [1, 2, 10, 1000, 20_000])
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 4.0])
def test_without_subsampling_it_is_the_gaussian_mechanism(mu, steps, delta):
    # So many steps of noise sigma are one of sigma / sqrt(steps).
    exact = gaussian_epsilon(mu, delta)
    ours = epsilon(math.sqrt(steps) / mu, 1.0, steps, delta)
    assert exact <= ours + 1e-12  # never under-reports
    assert ours <= 1.005 * exact + 1e-4


@FEW
@given(NOISE, RATE, STEPS, st.integers(1, 3000), DELTA)
def test_more_steps_never_cost_less(noise, rate, steps, more, delta):
    assert 0 <= epsilon(noise, rate, steps, delta) <= epsilon(noise, rate, steps + more, delta)


@FEW
@given(NOISE, RATE, STEPS, st.floats(1.01, 3), DELTA)
def test_more_noise_never_costs_more(noise, rate, steps, times, delta):
    less, more = (epsilon(sigma, rate, steps, delta) for sigma in (noise, noise * times))
    assert more <= less * 1.001 + 1e-6  # either may be rounded up


@FEW
@given(NOISE, st.floats(1e-3, 0.5), STEPS, st.floats(1.01, 2), DELTA)
def test_a_higher_rate_never_costs_less(noise, rate, steps, times, delta):
    less, more = (epsilon(noise, q, steps, delta) for q in (rate, rate * times))
    assert more >= less * 0.999 - 1e-6


@FEW
@given(NOISE, RATE, STEPS)
def test_a_smaller_delta_never_costs_less(noise, rate, steps):
    found = [epsilon(noise, rate, steps, delta) for delta in (1e-3, 1e-5, 1e-7)]
    assert found == sorted(found)


@FEW
@given(NOISE, RATE, st.integers(1, 500), st.integers(1, 500), DELTA)
def test_a_training_in_two_parts_costs_what_it_costs_in_one(noise, rate, first, second, delta):
    parts = spent([Phase(noise, rate, first), Phase(noise, rate, second)], delta).epsilon
    whole = epsilon(noise, rate, first + second, delta)
    assert parts == pytest.approx(whole, rel=1e-3, abs=1e-6)


def test_phases_with_other_settings_compose():
    first, second = Phase(1.0, 0.01, 1000), Phase(2.0, 0.05, 300)
    each = [spent([phase], 1e-6).epsilon for phase in (first, second)]
    both = spent([first, second], 1e-6).epsilon
    assert max(each) < both < sum(each)
    assert both == pytest.approx(spent([second, first], 1e-6).epsilon, rel=1e-6)
    # Both phases without subsampling: one Gaussian mechanism again.
    mu = math.sqrt(100 / 20**2 + 50 / 9**2)
    exact = gaussian_epsilon(mu, 1e-5)
    ours = spent([Phase(20, 1, 100), Phase(9, 1, 50)], 1e-5).epsilon
    assert exact <= ours <= 1.005 * exact


def test_phases_of_very_different_size_compose():
    heavy, light = Phase(0.6, 0.3, 20), Phase(5.0, 1e-4, 1000)
    alone = spent([heavy], 1e-5).epsilon
    both = spent([heavy, light], 1e-5).epsilon
    assert 0.999 * alone <= both <= 1.01 * alone  # each is rounded up on a grid of its own


@pytest.mark.parametrize(
    "phases",
    [
        [],
        [Phase(1.0, 0.1, 0)],
        [Phase(math.inf, 0.1, 1000)],
        [Phase(1.0, 0.0, 1000)],
        [Phase(0.0, 0.5, 0)],
    ],
)
def test_what_tells_nothing_costs_nothing(phases):
    assert spent(phases, 1e-6).epsilon == 0


def test_no_noise_has_no_epsilon_and_says_why():
    assert math.isinf(epsilon(0.0, 0.1, 1, 1e-6))
    found = spent([Phase(1.0, 0.1, 5), Phase(0.0, 0.1, 1)], 1e-6)
    assert found.epsilon is None
    assert "without noise" in found.reason


def test_a_delta_below_the_arithmetic_has_no_epsilon_and_says_why():
    found = spent([Phase(1000.0, 1.0, 10**6)], 1e-9)
    assert found.epsilon is None
    assert "Delta is too small" in found.reason


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_little_noise_gives_a_large_epsilon_not_a_wrong_one(noise):
    exact = gaussian_mechanism_mean(noise)
    assert epsilon(noise, 1.0, 1, 1e-5) > exact


def gaussian_mechanism_mean(noise):
    """The mean privacy loss: epsilon at any small delta is above it."""
    return 1 / (2 * noise**2)


@pytest.mark.parametrize("rate", [1e-5, 1e-7, 1e-9])
def test_tiny_rates_cost_little_but_never_less_than_nothing(rate):
    assert 0 <= epsilon(1.0, rate, 1000, 1e-7) < 0.01


def test_neighbours_are_both_directions():
    """One step, by plain integration: the greater of adding and of removing a user."""
    noise, rate, delta = 0.8, 0.3, 1e-4
    x = np.linspace(-15, 16, 2_000_001)
    without = norm.pdf(x, 0, noise)
    with_user = (1 - rate) * without + rate * norm.pdf(x, 1, noise)
    width = x[1] - x[0]

    def needed(p, q):
        def excess(eps):
            return np.maximum(p - math.exp(eps) * q, 0).sum() * width - delta

        return brentq(excess, 0, 20)

    exact = max(needed(with_user, without), needed(without, with_user))
    assert exact <= epsilon(noise, rate, 1, delta) <= 1.002 * exact


@pytest.mark.parametrize("target", [0.5, 2.0, 4.0])
def test_steps_at_is_the_last_step_within_the_target(target):
    noise, rate, delta = 1.0, 0.02, 1e-5
    steps = steps_at(target, noise, rate, delta, limit=5000)
    assert 0 < steps < 5000
    assert epsilon(noise, rate, steps, delta) <= target
    assert epsilon(noise, rate, steps + 1, delta) > target


def test_steps_at_counts_what_was_spent_before():
    past = [Phase(1.0, 0.02, 400)]
    whole = steps_at(3.0, 1.0, 0.02, 1e-5, limit=5000)
    assert steps_at(3.0, 1.0, 0.02, 1e-5, before=past, limit=5000) == pytest.approx(
        whole - 400, abs=2
    )
    assert steps_at(0.5, 1.0, 0.02, 1e-5, before=past, limit=5000) == 0
    assert steps_at(100.0, 1.0, 0.02, 1e-5, limit=77) == 77
    assert steps_at(0.1, 0.5, 0.5, 1e-5, limit=77) == 0
    assert steps_at(1.0, 0.0, 0.5, 1e-5, limit=77) == 0


@given(st.integers(2, 10**9))
def test_the_default_delta_is_at_most_what_is_promised_and_near_it(users):
    delta = default_delta(users)
    most = min(1e-5, 0.1 / users, users**-1.1)
    assert 0.9 * most <= delta <= most
    assert not [doubt for doubt in doubts_about("user", users, delta) if "Delta" in doubt]
    assert len(f"{delta:e}".split("e")[0].rstrip("0").replace(".", "")) <= 2


@pytest.mark.parametrize("users", [0, 1])
def test_one_user_cannot_hide(users):
    with pytest.raises(LeakscopeError):
        default_delta(users)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan])
def test_a_delta_must_mean_something(delta):
    with pytest.raises(LeakscopeError):
        epsilon(1.0, 0.1, 1, delta)


@pytest.mark.parametrize(
    ("noise", "rate", "steps"), [(-1.0, 0.1, 1), (1.0, 1.5, 1), (1.0, -0.1, 1), (1.0, 0.1, -1)]
)
def test_impossible_phases_are_refused(noise, rate, steps):
    with pytest.raises(LeakscopeError):
        Phase(noise, rate, steps)


def test_the_accountant_says_its_version_and_unit():
    assert accountant_name("user").startswith("PLD (dp-accounting 0.")
    assert accountant_name("document").endswith("add/remove one document")
