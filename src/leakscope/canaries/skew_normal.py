"""The skew-normal distribution, fitted to surprises and read far out in its lower tail.

Everything is in logarithms: a canary that a model knows by heart lies where any distribution
function in floats is 0, and so would be its exposure.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

Floats = npt.NDArray[np.float64]

MOST_SHAPE = 50.0
"""Beyond this a skew-normal is a half-normal for all that samples can tell."""
BULK = 1e-3
"""Where the distribution function is above this, nothing is lost in computing it."""
_BINS = 2048
_LOG_ROOT_TWO_PI = 0.5 * np.log(2 * np.pi)
_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-8, 7)])
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class SkewNormal:
    """Density 2 / scale * phi(z) * Phi(shape * z), with z = (x - location) / scale."""

    shape: float
    location: float
    scale: float

    def log_cdf(self, values: Floats) -> Floats:
        """Natural logarithms of P(X <= value), exact to about ten digits however small it is.

        In the bulk they are those of `cdf`. In the tail the density rises at some rate r, and since
        it is log-concave it falls off at least as exp(-r t) from there on: Gauss-Legendre on panels
        that double, in units of 1 / r, has all of its integral.
        """
        found = np.log(np.maximum(self.cdf(values), BULK))
        tail = found <= np.log(BULK)
        found[tail] = self._log_tail(np.asarray(values, np.float64)[tail])
        return found

    def _log_tail(self, values: Floats) -> Floats:
        z = (values - self.location) / self.scale
        rise = np.maximum(-z + self.shape * _hazard(self.shape * z), 1.0)
        low, high = _EDGES[:-1, None], _EDGES[1:, None]
        steps = ((high + low) / 2 + (high - low) / 2 * _POINTS).ravel()
        logs = np.log(((high - low) / 2 * _WEIGHTS).ravel())
        inside = _log_density(self.shape, z[..., None] - steps / rise[..., None])
        found: Floats = special.logsumexp(inside + logs, axis=-1) - np.log(rise)
        return np.minimum(found, 0.0)

    def cdf(self, values: Floats) -> Floats:
        """P(X <= value), for the bulk of the distribution."""
        found: Floats = stats.skewnorm.cdf(values, self.shape, self.location, self.scale)
        return found


def fit_skew_normal(values: Floats, weights: Floats | None = None) -> SkewNormal:
    """The skew-normal of the greatest likelihood for `values`, each counted `weights` times."""
    counts = np.ones(len(values)) if weights is None else weights
    total = counts.sum()
    mean = float(np.dot(counts, values) / total)
    spread = float(np.sqrt(np.dot(counts, (values - mean) ** 2) / total))
    if spread == 0 or not np.isfinite(spread):
        raise ValueError("Values that do not vary have no skew-normal fit.")
    x = (values - mean) / spread
    skewness = float(np.dot(counts, x**3) / total)

    def loss(terms: Floats) -> tuple[float, Floats]:
        shape, location, log_scale = terms
        scale = np.exp(log_scale)
        z = (x - location) / scale
        logs = _log_density(shape, z) - log_scale
        hazard = _hazard(shape * z)
        slope = -z + shape * hazard  # of the log-density, by z
        gradient = [z * hazard, -slope / scale, -1 - slope * z]
        return (
            float(-np.dot(counts, logs) / total),
            np.array([-np.dot(counts, each) / total for each in gradient]),
        )

    bounds = [(-MOST_SHAPE, MOST_SHAPE), (-10, 10), (-5, 5)]
    found = [
        optimize.minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500},
        )
        for start in (_by_moments(skewness), np.array([0.5 * np.sign(skewness), 0.0, 0.0]))
    ]
    shape, location, log_scale = min(found, key=lambda each: float(each.fun)).x
    return SkewNormal(
        float(shape), mean + spread * float(location), spread * float(np.exp(log_scale))
    )


def _by_moments(skewness: float) -> Floats:
    """(shape, location, log scale) of mean 0, variance 1 and a skewness, within what a skew-normal
    can have.
    """
    g = np.clip(abs(skewness), 1e-3, 0.95) ** (2 / 3)
    delta = np.sign(skewness or 1.0) * np.sqrt(np.pi / 2 * g / (g + ((4 - np.pi) / 2) ** (2 / 3)))
    scale = 1 / np.sqrt(1 - 2 * delta**2 / np.pi)
    shape = delta / np.sqrt(1 - delta**2)
    return np.array([shape, -scale * delta * np.sqrt(2 / np.pi), np.log(scale)])


def binned(values: Floats) -> tuple[Floats, Floats]:
    """(values, counts): the middles of fine bins where there are many values, so that refitting
    costs little.
    """
    if len(values) <= 2 * _BINS:
        return np.asarray(values, np.float64), np.ones(len(values))
    counts, edges = np.histogram(values, _BINS)
    kept = counts > 0
    return ((edges[:-1] + edges[1:]) / 2)[kept], counts[kept].astype(np.float64)


def ks_test(values: Floats, fit: SkewNormal) -> tuple[float, float]:
    """(distance, p-value) of the Kolmogorov-Smirnov test. The parameters were fitted to the same
    values, so the true p-value is smaller.
    """
    found = stats.ks_1samp(values, fit.cdf, method="asymp")
    return float(found.statistic), float(found.pvalue)


def _log_density(shape: float, z: Floats) -> Floats:
    found: Floats = np.log(2) - z**2 / 2 - _LOG_ROOT_TWO_PI + special.log_ndtr(shape * z)
    return found


def _hazard(z: Floats) -> Floats:
    """phi(z) / Phi(z), also where both are 0 in floats."""
    found: Floats = np.exp(-(z**2) / 2 - _LOG_ROOT_TWO_PI - special.log_ndtr(z))
    return found
