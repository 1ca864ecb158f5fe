"""How much noise a chosen epsilon needs."""

import math

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.accountant import check_delta, epsilon
from leakscope.training.dp.accounting.gaussian_dp import noise_for

_CLOSE = 0.998  # of the target epsilon: near enough
_TRIES = 40
_DIGITS = 4


def calibrate(target_epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise multiplier (4 digits, rounded up) whose epsilon after `steps` steps is at
    most the target and, where 4 digits allow, at least 99.8% of it.

    Costs some five evaluations of epsilon: about a second, unless the rate is tiny.
    """
    if not 0 < target_epsilon < math.inf:
        raise LeakscopeError("The target epsilon must be positive and finite.")
    if not (0 < rate <= 1 and steps >= 1):
        raise LeakscopeError("Calibrating noise needs a rate in (0, 1] and at least one step.")
    check_delta(delta)
    low, high = 0.0, math.inf  # noise that is too little, and that is enough
    # Epsilon is nearly a power of the noise, so the search runs on logarithms.
    noise = _rounded_up(noise_for(target_epsilon, delta, rate, steps))
    slope = -1.0
    last: tuple[float, float] | None = None
    for _ in range(_TRIES):
        found = epsilon(noise, rate, steps, delta)
        if found <= target_epsilon:
            high = noise
            if found >= _CLOSE * target_epsilon:
                return noise
        else:
            low = noise
        if low and _rounded_up(low * (1 + 1e-9)) >= high:
            return high
        slope = _slope(last, (noise, found), slope)
        if 0 < found < math.inf:
            last = (noise, found)
        noise = _next(noise, found, target_epsilon, slope, low, high)
    raise LeakscopeError(
        f"No noise was found for epsilon {target_epsilon}; choose another epsilon or delta."
    )


def _slope(last: tuple[float, float] | None, now: tuple[float, float], slope: float) -> float:
    """How log epsilon changes with log noise, from the last two points; always falling."""
    if last is None or not 0 < now[1] < math.inf or last[0] == now[0] or last[1] == now[1]:
        return slope
    measured = math.log(now[1] / last[1]) / math.log(now[0] / last[0])
    return min(max(measured, -20.0), -0.3)


def _next(
    noise: float, found: float, target: float, slope: float, low: float, high: float
) -> float:
    """The next noise to try: by the slope, kept inside the bracket."""
    if found == 0 or math.isinf(found):
        guess = noise * (0.5 if found == 0 else 2.0)
    else:
        aim = target * (1 + _CLOSE) / 2  # the middle of what counts as close
        guess = noise * (aim / found) ** (1 / slope)
    if not low < guess < high:
        guess = math.sqrt(low * high) if low and high < math.inf else max(2 * low, high / 2)
    rounded = _rounded_up(guess)
    if rounded >= high:  # rounding up went past the bracket: halve what is left
        rounded = _rounded_up(low + (high - low) / 2)
    return rounded if low < rounded < high else _rounded_up(low * (1 + 1e-9))


def _rounded_up(noise: float) -> float:
    """The next number with 4 significant digits, so that noise is never rounded down."""
    exponent = math.floor(math.log10(noise)) - _DIGITS + 1
    digits = math.ceil(round(noise / 10.0**exponent, 6))
    return float(f"{digits}e{exponent}")
