"""The Gaussian-DP value: as in its papers, and below what is really spent."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.dp.accounting.gaussian_dp import delta_of, epsilon_of, mu_of, noise_for
from leakscope.training.dp.accounting.phases import Phase


def test_the_example_of_its_authors():
    # Bu et al. (2019), Table 1: MNIST, sigma 1.3, 15 epochs of batches of 256 of 60000: mu 0.23.
    mu = mu_of([Phase(1.3, 256 / 60000, int(15 * 60000 / 256))])
    assert mu == pytest.approx(0.23, abs=0.005)


@given(st.floats(0.05, 5), st.floats(0, 10))
def test_delta_is_the_plain_formula(mu, eps):
    plain = norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
    assert delta_of(mu, eps) == pytest.approx(plain, rel=1e-6, abs=1e-13)


@given(st.floats(0.05, 8), st.sampled_from([1e-3, 1e-5, 1e-8]))
def test_epsilon_is_the_inverse_of_delta(mu, delta):
    found = epsilon_of(mu, delta)
    assert delta_of(mu, found) == pytest.approx(delta, rel=1e-6) or found == 0


def test_phases_add_up_in_squares():
    one, two = Phase(1.0, 0.01, 100), Phase(2.0, 0.1, 50)
    assert mu_of([one, two]) == pytest.approx(math.hypot(mu_of([one]), mu_of([two])))
    assert mu_of([]) == epsilon_of(0.0, 1e-5) == 0
    assert math.isinf(mu_of([Phase(0.0, 0.1, 1)]))
    assert math.isinf(mu_of([Phase(0.01, 0.1, 1)]))
    assert math.isinf(epsilon_of(math.inf, 1e-5))


@pytest.mark.parametrize("noise", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("steps", [100, 3000])
def test_it_under_reports(noise, steps):
    phase = Phase(noise, 0.01, steps)
    assert epsilon_of(mu_of([phase]), 1e-5) < epsilon(noise, 0.01, steps, 1e-5)


@given(st.floats(0.05, 30), st.floats(1e-3, 1), st.integers(1, 10_000))
def test_noise_for_is_its_inverse(target, rate, steps):
    noise = noise_for(target, 1e-5, rate, steps)
    assert epsilon_of(mu_of([Phase(noise, rate, steps)]), 1e-5) == pytest.approx(target, rel=1e-4)
