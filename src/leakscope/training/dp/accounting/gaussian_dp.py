"""Gaussian differential privacy: a closed form for epsilon, by the central limit theorem.

The second paper accounts this way (Bu et al., 2019). For a subsampled training it is an
approximation that UNDER-REPORTS epsilon: it is shown beside the PLD value, never instead of it,
and serves as the first guess when noise is calibrated. For rate 1 and one step it is not used
here, though the Gaussian mechanism then is what `epsilon_of` computes exactly.
"""

import math
from collections.abc import Iterable

from scipy.optimize import brentq
from scipy.special import log_ndtr

from leakscope.training.dp.accounting.phases import Phase

UNDER_REPORTS = "an approximation by the central limit theorem that mostly under-reports epsilon"

_LARGEST_EXPONENT = 700.0  # e^700 is still a float


def mu_of(phases: Iterable[Phase]) -> float:
    """The mu of Gaussian DP for some phases (Bu et al., Corollary 3); infinite without noise."""
    total = 0.0
    for phase in phases:
        if not phase.spends:
            continue
        if phase.noise_multiplier == 0:
            return math.inf
        exponent = phase.noise_multiplier**-2
        if exponent > _LARGEST_EXPONENT:
            return math.inf
        total += phase.rate**2 * phase.steps * math.expm1(exponent)
    return math.sqrt(total)


def delta_of(mu: float, epsilon: float) -> float:
    """The delta of a mu-GDP mechanism at `epsilon` (Dong et al., 2019, Corollary 2.13)."""
    above = log_ndtr(mu / 2 - epsilon / mu)
    below = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(above) * -math.expm1(min(below - above, 0.0)))


def epsilon_of(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at `delta`; infinite where mu is."""
    if math.isinf(mu):
        return math.inf
    if mu == 0 or delta_of(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(mu, high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: delta_of(mu, epsilon) - delta, 0.0, high, xtol=1e-12))


def noise_for(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The noise multiplier that this approximation asks for: too small, but near."""
    high = 1.0
    while epsilon_of(high, delta) < epsilon:
        high *= 2
    low = high
    while epsilon_of(low, delta) > epsilon:
        low /= 2
    mu = low if low == high else brentq(lambda m: epsilon_of(m, delta) - epsilon, low, high)
    return float(math.log1p((mu / rate) ** 2 / steps) ** -0.5)
