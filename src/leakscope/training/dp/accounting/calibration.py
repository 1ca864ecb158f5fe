"""How much noise a chosen epsilon needs."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.accountant import check_delta, epsilon
from leakscope.training.dp.accounting.gaussian_dp import noise_for

_CLOSE = 0.998  # of the target epsilon: near enough
_TRIES = 40
_LARGEST = 1e6  # the noise for more is beyond the arithmetic
_DIGITS = 4
_APART = 5e-5  # half the least distance, in logarithms, between two numbers of 4 digits
_FAR = 10.0  # stands for the logarithm of what is infinitely far from the target
_BEYOND = 1.3  # a step towards the other side goes so many times as far as the slope says


def calibrate(
    target_epsilon: float,
    delta: float,
    rate: float,
    steps: int,
    cost: Callable[[float], float] | None = None,
) -> float:
    """The noise multiplier, of 4 digits, whose epsilon after `steps` steps is at most the target
    and at least 99.8% of it; where 4 digits do not allow that, the least that is enough. `cost`
    gives the epsilon of a noise multiplier, where not all steps are alike.

    Costs some four evaluations of epsilon: well below a second, unless the rate is tiny.
    """
    if not 0 < target_epsilon < math.inf:
        raise LeakscopeError("The target epsilon must be positive and finite.")
    if target_epsilon > _LARGEST:
        raise LeakscopeError(
            f"A target epsilon of {target_epsilon:g} protects nobody; choose one of at most "
            f"{_LARGEST:g}."
        )
    if not (0 < rate <= 1 and steps >= 1):
        raise LeakscopeError("Calibrating noise needs a rate in (0, 1] and at least one step.")
    check_delta(delta)
    known: dict[float, float] = {}

    def excess(log_noise: float) -> float:
        """How far epsilon is above the middle of what is close, in logarithms; 0 where close."""
        noise = _rounded_up(math.exp(log_noise))
        if noise not in known:
            known[noise] = epsilon(noise, rate, steps, delta) if cost is None else cost(noise)
        return _excess(known[noise], target_epsilon)

    # Epsilon is nearly a power of the noise, so the search runs on logarithms. It looks at rounded
    # noise only, so what it finds is exactly what was evaluated.
    first = math.log(noise_for(target_epsilon, delta, rate, steps))
    bracket = _bracket(excess, first)
    if bracket is not None:
        brentq(excess, *bracket, xtol=_APART, maxiter=_TRIES, disp=False)
    enough = [noise for noise, found in known.items() if found <= target_epsilon]
    if bracket is None or not enough:
        raise LeakscopeError(
            f"No noise was found for epsilon {target_epsilon}; choose another epsilon or delta."
        )
    return min(enough)


def _excess(found: float, target: float) -> float:
    if _CLOSE * target <= found <= target:
        return 0.0
    if found == 0 or math.isinf(found):
        return _FAR if found else -_FAR
    return min(max(math.log(found / (target * (1 + _CLOSE) / 2)), -_FAR), _FAR)


def _bracket(excess: Callable[[float], float], first: float) -> tuple[float, float] | None:
    """Two logarithms of noise, from a first guess, with the target between them or at one."""
    last, value, slope = first, excess(first), -1.0
    for _ in range(_TRIES):
        if value == 0:
            return last, last
        step = -value / slope * _BEYOND
        now = last + min(max(step, -1.0), 1.0)
        there = excess(now)
        if there * value <= 0:
            return last, now
        measured = (there - value) / (now - last)
        slope = min(max(measured, -20.0), -0.3)
        last, value = now, there
    return None


def _rounded_up(noise: float) -> float:
    """The next number with 4 significant digits, so that noise is never rounded down."""
    exponent = math.floor(math.log10(noise)) - _DIGITS + 1
    digits = math.ceil(round(noise / 10.0**exponent, 6))
    return float(f"{digits}e{exponent}")
