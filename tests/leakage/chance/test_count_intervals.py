"""Intervals of counts: coverage by simulation."""

import numpy as np
import pytest

from leakscope.leakage.chance.count_intervals import (
    Interval,
    clustered_unit,
    count_interval,
    difference,
)


def unit_of(clusters, scale=1.0, least=1.0):
    return clustered_unit(np.array(clusters, np.int64), np.full(len(clusters), scale), least)


def interval(clusters, scale=1.0, least=1.0):
    weights = np.full(len(clusters), scale)
    return count_interval(weights, unit_of(clusters, scale, least))


def test_known_poisson_limits():
    # Garwood's table: 10 events, 4.795 to 18.39.
    assert interval(range(10)) == pytest.approx((10, 4.795, 18.39), rel=1e-3)
    assert interval([]) == pytest.approx((0, 0, 3.689), rel=1e-3)
    assert interval(range(10), 9.0) == pytest.approx((90, 9 * 4.795, 9 * 18.39), rel=1e-3)


def test_units_that_come_together_say_less():
    alone, together = interval(range(12)), interval([0] * 6 + [1] * 6)
    assert together.high - together.low > 2 * (alone.high - alone.low)
    one = interval([0], 6.0)
    assert interval([0] * 6).high == pytest.approx(one.high)


def test_difference_of_exact_values_is_exact():
    assert difference(Interval(5, 5, 5), Interval(2, 2, 2)) == (3, 3, 3)


@pytest.mark.parametrize(("mean", "scale", "size"), [(5.0, 9.0, 1), (40.0, 4.0, 1), (20.0, 9.0, 3)])
def test_the_excess_of_nothing_is_0_within_its_interval(mean, scale, size):
    """Documents bring `size` units at a time, `mean` of them in as much text as D has."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        targets = np.repeat(np.arange(rng.poisson(mean)), size)
        decoys = np.repeat(np.arange(rng.poisson(mean / scale)), size)
        chance = interval(decoys, scale, scale * unit_of(targets))
        low, high = difference(interval(targets), chance)[1:]
        covered += low <= 0 <= high
    assert covered >= 0.93 * 400
