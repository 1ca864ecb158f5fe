"""The skew-normal fit against scipy's, and its far tail against many digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leakscope.canaries.skew_normal import SkewNormal, binned, fit_skew_normal, ks_test

GOLDEN = [
    (4.0, 60.0, 7.0, (4.003345, 59.998994, 7.000308)),
    (-2.5, 81.0, 12.0, (-2.501300, 81.001240, 12.000064)),
    (0.8, 10.0, 0.5, (0.799238, 10.000225, 0.499831)),
]
"""(shape, location, scale) of fixed data, and what scipy.stats.skewnorm.fit of scipy 1.17 says."""


def fixed_data(shape, location, scale):
    """4,000 quantiles of the distribution itself, moved a little by a fixed pattern."""
    shares = (np.arange(4000) + 0.5) / 4000
    return stats.skewnorm.ppf(shares, shape, location, scale) + 0.01 * scale * np.cos(
        np.arange(4000.0)
    )


@pytest.mark.parametrize(("shape", "location", "scale", "golden"), GOLDEN)
def test_the_fit_is_scipys(shape, location, scale, golden):
    found = fit_skew_normal(fixed_data(shape, location, scale))
    np.testing.assert_allclose(
        (found.shape, found.location, found.scale), golden, rtol=2e-3, atol=2e-3
    )


def test_binned_values_have_the_fit_of_all_values():
    values = stats.skewnorm.rvs(3, 50, 8, size=30_000, random_state=1)
    whole, few = fit_skew_normal(values), fit_skew_normal(*binned(values))
    assert len(binned(values)[0]) <= 2048
    np.testing.assert_allclose(
        (few.shape, few.location, few.scale), (whole.shape, whole.location, whole.scale), rtol=5e-3
    )


@settings(max_examples=12, deadline=None)
@given(st.floats(-20, 20), st.floats(-30, 5))
def test_the_tail_is_right_however_far_out(shape, z):
    mpmath.mp.dps = 40

    def density(t):
        return 2 * mpmath.npdf(t) * mpmath.ncdf(shape * t)

    rise = max(1.0, -z + (shape**2 * max(-z, 0) if shape > 0 else 0))
    edges = [z - step / rise for step in (64, 16, 8, 4, 2, 1, 0.5, 0.25, 0.1, 0)]
    if rise < 8:
        edges = [mpmath.mpf("-inf"), *edges]
    exact = float(mpmath.log(mpmath.quad(density, edges)))
    found = SkewNormal(shape, 0.0, 1.0).log_cdf(np.array([z]))[0]
    assert found == pytest.approx(exact, rel=1e-7, abs=1e-9)


def test_no_value_is_lost_to_underflow():
    """Where scipy's own distribution function is 0 and its logarithm minus infinity."""
    far = np.array([-5.0, -20.0, -60.0, -500.0])
    found = SkewNormal(4.0, 0.0, 1.0).log_cdf(far)
    assert np.isfinite(found).all() and (np.diff(found) < 0).all()
    assert found[2] == pytest.approx(-17 * 60**2 / 2, rel=0.01)  # -(1 + shape^2) z^2 / 2
    assert stats.skewnorm.cdf(-60.0, 4.0) <= 0


def test_the_bulk_agrees_with_scipy():
    values = np.linspace(-2, 6, 40)
    for shape in (-3.0, 0.0, 1.0, 30.0):
        found = np.exp(SkewNormal(shape, 1.0, 1.5).log_cdf(values))
        np.testing.assert_allclose(
            found, stats.skewnorm.cdf(values, shape, 1, 1.5), rtol=1e-6, atol=1e-9
        )


def test_the_ks_test_tells_good_from_poor():
    good = stats.skewnorm.rvs(2, size=5000, random_state=3)
    assert ks_test(good, fit_skew_normal(good))[1] > 0.05
    two_humps = np.concatenate([good, good + 12])
    assert ks_test(two_humps, fit_skew_normal(two_humps))[1] < 1e-6


def test_what_does_not_vary_has_no_fit():
    with pytest.raises(ValueError, match="vary"):
        fit_skew_normal(np.ones(100))
