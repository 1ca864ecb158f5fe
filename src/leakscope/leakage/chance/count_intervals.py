"""95 % intervals of counts whose units come in clusters, such as runs in documents."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

LEVEL = 0.95


class Interval(NamedTuple):
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


def count_interval(weights: npt.NDArray[np.float64], unit: float) -> Interval:
    """Of a sum of `weights`: a Poisson interval (Garwood, 1936) of things that weigh `unit` each;
    that of nothing ends above 0.
    """
    total = float(weights.sum())
    low, high = _poisson(total / unit)
    return Interval(total, low * unit, high * unit)


def clustered_unit(
    clusters: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], least: float
) -> float:
    """How much comes at a time where each of the weights comes with its cluster; `least` where it
    would be less.
    """
    total = float(weights.sum())
    _, which = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(which, weights=weights)
    return max(least, float((sizes**2).sum()) / total) if total else least


def difference(one: Interval, other: Interval) -> Interval:
    """one - other, of independent estimates (Zou and Donner, 2008)."""
    value = one.value - other.value
    return Interval(
        value,
        value - math.hypot(one.value - one.low, other.high - other.value),
        value + math.hypot(one.high - one.value, other.value - other.low),
    )


def _poisson(count: float) -> tuple[float, float]:
    outside = (1 - LEVEL) / 2
    low = float(chi2.ppf(outside, 2 * count)) / 2 if count else 0.0
    return low, float(chi2.isf(outside, 2 * (count + 1))) / 2
