"""Exposure in bits: log2 |R| minus log2 of a canary's rank in its random space, by three methods.

`surprise` and `samples` are -log2 of probabilities, so that less is more probable.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from leakscope.canaries.skew_normal import SkewNormal, binned, fit_skew_normal, ks_test

Floats = npt.NDArray[np.float64]
LongArray = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CONFIDENCE = 0.95
POOR_P, POOR_DISTANCE = 0.01, 0.01
"""A fit is poor if chance does not explain its distance from the samples, and it is not tiny."""


def exact_exposure(everything: Floats, places: LongArray) -> Floats:
    """[n] the exposure of the texts at `places` [n] of a space that was enumerated whole. Their
    rank is one more than the number of texts that are more probable.
    """
    ordered = np.sort(everything)
    rank = 1 + np.searchsorted(ordered, everything[places], side="left")
    found: Floats = np.log2(len(everything)) - np.log2(rank)
    return found


@dataclass(frozen=True)
class SampledExposure:
    """Exposures from samples of a random space."""

    value: Floats
    """[n] at least this where `censored`."""
    low: Floats
    high: Floats
    """[n] ends of the 95 % interval (Clopper-Pearson)."""
    censored: Bools
    """[n] whether no sample is as probable, so that only a lower bound is known: log2 N."""


def sampled_exposure(surprise: Floats, samples: Floats, bits: float) -> SampledExposure:
    """-log2 of the share of samples that are as probable as the canary, or more. `bits` is log2 of
    the space's size, which bounds any exposure.
    """
    size = len(samples)
    as_good = np.searchsorted(np.sort(samples), surprise, side="right")
    censored = as_good == 0
    tail = (1 - CONFIDENCE) / 2
    least = np.where(
        censored, 0.0, stats.beta.ppf(tail, np.maximum(as_good, 1), size - as_good + 1)
    )
    full = as_good == size
    most = np.where(full, 1.0, stats.beta.ppf(1 - tail, as_good + 1, np.maximum(size - as_good, 1)))
    with np.errstate(divide="ignore"):
        high = np.minimum(-np.log2(least), bits)
    value = np.minimum(np.log2(size) - np.log2(np.maximum(as_good, 1)), bits)
    return SampledExposure(value, np.minimum(-np.log2(most), bits), high, censored)


@dataclass(frozen=True)
class FittedSpace:
    """A skew-normal fit to the samples of a random space, and how far it can be trusted."""

    fit: SkewNormal
    resampled: tuple[SkewNormal, ...]
    """Fits to bootstrap resamples."""
    samples: int
    ks_distance: float
    ks_p_value: float

    @property
    def poor(self) -> bool:
        """Whether the samples do not look like the fit."""
        return self.ks_p_value < POOR_P and self.ks_distance > POOR_DISTANCE


def fit_space(samples: Floats, resamples: int, rng: np.random.Generator) -> FittedSpace:
    """Fit the samples, and as many resamples of them. Raise ValueError if there is no fit."""
    if not np.isfinite(samples).all():
        raise ValueError("Samples of probability 0 have no fit.")
    middles, counts = binned(samples)
    fit = fit_skew_normal(middles, counts)
    total = int(counts.sum())
    again = tuple(
        fit_skew_normal(middles, rng.multinomial(total, counts / total).astype(np.float64))
        for _ in range(resamples)
    )
    distance, p_value = ks_test(samples, fit)
    return FittedSpace(fit, again, len(samples), distance, p_value)


@dataclass(frozen=True)
class FittedExposure:
    """Exposures by a skew-normal fit."""

    value: Floats
    low: Floats
    high: Floats
    """[n] ends of an interval: where the true distribution function lies within the distance that
    the fit has from the samples, and that samples have from the truth, and where resamples say."""
    clipped: Bools
    """[n] whether the fit said more than log2 |R|, which nothing can have."""


def fitted_exposure(surprise: Floats, space: FittedSpace, bits: float) -> FittedExposure:
    """-log2 of the fit's P(X <= surprise), from its logarithm."""
    raw = -space.fit.log_cdf(surprise) / np.log(2)
    spread = np.stack([-each.log_cdf(surprise) / np.log(2) for each in space.resampled])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(spread, [tail, 1 - tail], axis=0)
    # Dvoretzky-Kiefer-Wolfowitz: samples are so far from the truth at most.
    band = space.ks_distance + np.sqrt(np.log(1 / tail) / (2 * space.samples))
    share = np.exp2(-raw)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.minimum(low, -np.log2(np.minimum(share + band, 1.0)))
        high = np.maximum(high, np.where(share > band, -np.log2(share - band), np.inf))
    return FittedExposure(
        np.minimum(raw, bits), np.minimum(low, bits), np.minimum(high, bits), raw > bits
    )


def mean_with_interval(
    values: Floats, resamples: int, rng: np.random.Generator
) -> tuple[float, float | None, float | None]:
    """The mean, and the ends of its bootstrap interval over canaries; none of a single canary."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None, None
    again = rng.choice(values, (resamples, len(values))).mean(1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(again, [tail, 1 - tail])
    return mean, float(low), float(high)
