"""Calibrated noise: enough, hardly more than that, and found quickly."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting import calibration
from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.dp.accounting.calibration import calibrate


@settings(max_examples=20)
@given(
    st.floats(0.1, 20),
    st.sampled_from([1e-4, 1e-6]),
    st.one_of(st.floats(2e-3, 0.5), st.just(1.0)),
    st.integers(1, 3000),
)
def test_the_noise_is_enough_and_hardly_more(target, delta, rate, steps):
    noise = calibrate(target, delta, rate, steps)
    assert epsilon(noise, rate, steps, delta) <= target
    assert epsilon(noise * 0.995, rate, steps, delta) > 0.998 * target
    assert float(f"{noise:.4g}") == noise


@pytest.mark.parametrize("target", [0.01, 100.0])
def test_extreme_targets(target):
    noise = calibrate(target, 1e-5, 0.01, 500)
    assert 0.98 * target <= epsilon(noise, 0.01, 500, 1e-5) <= target


def test_where_four_digits_are_too_few_it_is_the_least_that_is_enough():
    """Next to a tiny epsilon, one digit makes more than a percent."""
    noise = calibrate(0.001, 0.01, 0.02, 5)
    assert noise == 1.8
    assert epsilon(1.8, 0.02, 5, 0.01) < 0.998 * 0.001 < 0.001 < epsilon(1.799, 0.02, 5, 0.01)


def test_few_evaluations_are_enough(monkeypatch):
    count = 0

    def counted(*given):
        nonlocal count
        count += 1
        return epsilon(*given)

    monkeypatch.setattr(calibration, "epsilon", counted)
    for target in (0.1, 0.5, 2.0, 8.0, 50.0):
        for rate, steps in ((0.005, 200), (0.02, 1000), (0.3, 20), (1.0, 3)):
            calibrate(target, 1e-5, rate, steps)
    assert count <= 20 * 5


def test_it_takes_a_second_or_two():
    calibrate(2.0, 1e-5, 0.02, 100)  # warm up
    begin = time.process_time()
    calibrate(3.0, 1e-5, 0.0113, 2001)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(("rate", "steps"), [(1e-4, 10_000), (0.1, 50), (1.0, 1), (1.0, 10_000)])
def test_epsilons_that_protect_nobody_get_noise_or_a_sentence(rate, steps):
    for target in (1e3, 1e6):
        assert epsilon(calibrate(target, 1e-5, rate, steps), rate, steps, 1e-5) <= target
    for target in (1.1e6, 1e9, 1e300):
        with pytest.raises(LeakscopeError, match="choose one of at most 1e"):
            calibrate(target, 1e-5, rate, steps)


@pytest.mark.parametrize(
    ("target", "delta", "rate", "steps"),
    [(0.0, 1e-5, 0.1, 10), (1.0, 0.0, 0.1, 10), (1.0, 1e-5, 0.0, 10), (1.0, 1e-5, 0.1, 0)],
)
def test_what_makes_no_sense_is_refused(target, delta, rate, steps):
    with pytest.raises(LeakscopeError):
        calibrate(target, delta, rate, steps)
