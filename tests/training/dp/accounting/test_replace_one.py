"""Epsilon where one user may be replaced by another."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from leakscope.training.dp.accounting.accountant import epsilon, spent
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.privacy_plan import plan_of

SETTINGS = [(2.0, 1.0, 10), (1.0, 0.1, 50), (0.8, 0.01, 500), (3.0, 0.5, 200)]


def hockey_stick(epsilon, noise, rate):
    """The delta of one step at an epsilon, by plain integration."""
    x = np.linspace(-14 * noise, 14 * noise, 400_001)
    here, there = (
        (1 - rate) * norm.pdf(x, 0, noise) + rate * norm.pdf(x, mean, noise) for mean in (-1, 1)
    )
    return np.trapezoid(np.maximum(here - math.exp(epsilon) * there, 0), x)


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.1), (0.7, 0.02), (2.0, 0.5), (1.5, 1.0)])
def test_one_step_is_what_integration_gives(noise, rate):
    found = epsilon(noise, rate, 1, 1e-4, "replace-one")
    assert hockey_stick(found, noise, rate) == pytest.approx(1e-4, rel=0.05)
    assert hockey_stick(found, noise, rate) <= 1e-4  # rounded upwards


@pytest.mark.parametrize(("noise", "rate", "steps"), SETTINGS)
def test_it_lies_between_one_change_and_two(noise, rate, steps):
    assert epsilon(noise, rate, steps, 1e-5) < epsilon(noise, rate, steps, 1e-5, "replace-one")
    # To remove one and to add another is (2 epsilon, (1 + e^epsilon) delta).
    tiny = 1e-13
    once = epsilon(noise, rate, steps, tiny)
    twice = (1 + math.exp(once)) * tiny
    if twice < 1:
        assert epsilon(noise, rate, steps, twice, "replace-one") <= 1.01 * 2 * once


def test_without_sampling_it_is_that_of_twice_the_sensitivity():
    replaced = epsilon(2.0, 1.0, 10, 1e-5, "replace-one")
    assert replaced == pytest.approx(epsilon(1.0, 1.0, 10, 1e-5), rel=1e-3)


def test_no_other_two_contributions_are_easier_to_tell_apart():
    """The pair that is accounted, of opposite contributions, against any two in the plane."""
    rng, noise, rate = np.random.default_rng(0), 0.8, 0.2
    axis = np.linspace(-6, 6, 601)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2

    def released(mean):
        def bell(a, b):
            return np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * noise**2)) / (
                2 * math.pi * noise**2
            )

        return (1 - rate) * bell(0, 0) + rate * bell(*mean)

    def told_apart(one, other, factor):
        return float(np.maximum(released(one) - factor * released(other), 0).sum() * cell)

    for factor in (0.5, 1.0, 1.5, 3.0):
        worst = told_apart((-1, 0), (1, 0), factor)
        for _ in range(25):
            pair = rng.normal(size=(2, 2))
            pair *= rng.uniform(0, 1, (2, 1)) ** 0.2 / np.linalg.norm(pair, axis=1, keepdims=True)
            assert told_apart(*pair, factor) <= worst + 1e-6


def test_phases_compose():
    phases = [Phase(1.0, 0.1, 20), Phase(1.5, 0.1, 30)]
    cut = [Phase(1.0, 0.1, 12), Phase(1.5, 0.1, 30), Phase(1.0, 0.1, 8)]
    assert spent(phases, 1e-5, "replace-one") == spent(cut, 1e-5, "replace-one")
    assert spent(phases, 1e-5, "replace-one").epsilon > spent(phases, 1e-5).epsilon


def test_targets_snapshots_and_records_are_about_the_relation_that_was_asked_for():
    given = {"rate": 0.02, "delta": 1e-5, "target_epsilon": 4.0}
    usual = plan_of(PrivacySettings(**given), 5000, 500)
    plan = plan_of(PrivacySettings(**given, relation="replace-one"), 5000, 500)
    assert plan.noise_multiplier > usual.noise_multiplier
    record = plan.record(plan.phases(0, 500), 500, [])
    assert record.relation == "replace-one" and record.epsilon == record.replace_one_epsilon
    assert record.accountant.endswith("replace one user") and 3.99 < record.epsilon <= 4
    assert "for replacing one user" in record.summary()
    beside = usual.record(usual.phases(0, 500), 500, [])
    assert beside.relation == "add-remove" and beside.epsilon <= 4 < beside.replace_one_epsilon
    assert plan.steps_left(4.0, (), 1000) >= 500
