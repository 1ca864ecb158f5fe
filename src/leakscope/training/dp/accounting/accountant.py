"""What a private training has spent: epsilon, by privacy loss distributions (PLD).

The mechanism is the Poisson-subsampled Gaussian; neighbours differ by one whole user (or one
document, where that is the unit), added or removed, or replaced if that is asked for (docs/
decisions/0007 has the argument). `dp-accounting` composes the discretized privacy losses of the
steps. Every rounding is upwards, so epsilon is never under-reported; it is
within about half a percent for rates from 1e-4, and looser, never lower, for tiny rates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import DELTA_OF_ALL
from leakscope.training.dp.accounting.phases import Phase, merged
from leakscope.training.dp.accounting.relations import RELATIONS, Relation

try:
    from dp_accounting.pld import privacy_loss_distribution
except ImportError:
    raise LeakscopeError(
        "dp-accounting is not installed; get it by pip install 'leakscope[dp]'."
    ) from None

SMALLEST_DELTA = 1e-15  # about what composition itself cuts off the tails
LARGEST_DEFAULT_DELTA = 1e-5

# The grid of privacy losses: of a step's standard deviation, how coarse it should be, and may be
# when the tail is long; and how many points it may have at least, preferably and at most.
_FINE, _COARSE = 0.1, 0.4
_LEAST_POINTS, _GOOD_POINTS, _MOST_POINTS = 1_200, 2**15, 2**17
_TAIL = 9.8  # standard deviations at which dp-accounting cuts the noise off (e^-50)
# Composing by FFT raises numbers near 1 to the power of the steps, and the discretized
# distribution adds up to 1 but for some 20 units of rounding: so much of delta is set aside.
_ROUNDING_PER_STEP = 32 * 2.0**-53


@dataclass(frozen=True)
class Spent:
    """Epsilon at a delta, or the reason why there is none."""

    epsilon: float | None
    reason: str | None = None


def accountant_name(unit: str, relation: Relation = "add-remove") -> str:
    """The accountant as reports name it."""
    return f"PLD (dp-accounting {version('dp-accounting')}), {RELATIONS[relation]} {unit}"


def epsilon(
    noise_multiplier: float,
    rate: float,
    steps: int,
    delta: float,
    relation: Relation = "add-remove",
) -> float:
    """Epsilon of `steps` steps at `delta`; infinite where no finite one can be given."""
    return _bound((Phase(noise_multiplier, rate, steps),), delta, relation)


def spent(phases: Sequence[Phase], delta: float, relation: Relation = "add-remove") -> Spent:
    """Epsilon of phases one after the other at `delta`; None, with the reason, without one.

    The first call for some settings takes up to a second or so, later ones some 0.1 s.
    """
    if any(phase.spends and phase.noise_multiplier == 0 for phase in phases):
        return Spent(None, "Steps without noise give no privacy at all.")
    if _reserve(phases) > delta / 2:
        return Spent(None, "Delta is too small to be computed for so many steps.")
    bound = _bound(phases, delta, relation)
    if math.isinf(bound):
        return Spent(None, "The noise is too small for a finite epsilon at this delta.")
    return Spent(bound)


def steps_at(
    target_epsilon: float,
    noise_multiplier: float,
    rate: float,
    delta: float,
    *,
    before: Sequence[Phase] = (),
    limit: int,
    relation: Relation = "add-remove",
) -> int:
    """How many steps (at most `limit`) can be taken after the phases `before` so that epsilon is
    still at most the target; 0 also where it is exceeded already.
    """
    past = tuple(before)
    grid = _grid((*past, Phase(noise_multiplier, rate, 1)))

    def cost(steps: int) -> float:
        return _bound((*past, Phase(noise_multiplier, rate, steps)), delta, relation, grid)

    return steps_within(target_epsilon, cost, limit)


def steps_within(target_epsilon: float, cost: Callable[[int], float], limit: int) -> int:
    """How many steps, at most `limit`, stay within the target where `cost` of them is their
    epsilon, which grows with the steps; 0 also where none do.
    """
    low, high = (0, cost(0)), (limit, cost(limit))
    if high[1] <= target_epsilon:
        return limit
    if low[1] > target_epsilon:
        return 0
    lead = 0  # how far a guess goes beyond the interpolation, to close in from the other side too
    while high[0] - low[0] > 1:
        between = _interpolated(low, high, target_epsilon) + lead
        steps = min(max(between, low[0] + 1), high[0] - 1)
        found = (steps, cost(steps))
        if found[1] <= target_epsilon:
            low, lead = found, max(1, 4 * lead)
        else:
            high, lead = found, min(-1, 4 * lead)
    return low[0]


def default_delta(units: int) -> float:
    """The delta that is used unless one is asked for: two digits, at most 1e-5, 0.1 / units and
    1 / units^1.1.
    """
    if units < 2:
        raise LeakscopeError("Differential privacy needs at least 2 users or documents.")
    most = min(LARGEST_DEFAULT_DELTA, DELTA_OF_ALL / units, units**-1.1)
    exponent = math.floor(math.log10(most)) - 1
    digits = math.floor(most / 10.0**exponent)
    while float(f"{digits}e{exponent}") > most:
        digits -= 1
    return float(f"{digits}e{exponent}")


def check_delta(delta: float) -> None:
    """Refuse a delta that means nothing or cannot be computed."""
    if not SMALLEST_DELTA < delta < 1:
        raise LeakscopeError(f"Delta must be above {SMALLEST_DELTA} and below 1.")


def _bound(
    phases: Sequence[Phase], delta: float, relation: Relation, grid: float | None = None
) -> float:
    """An upper bound of epsilon."""
    check_delta(delta)
    # So many steps cost the same however they are cut into phases, to the last bit: what was
    # planned after a crash is what is recorded later.
    counted = [phase for phase in merged(phases) if phase.spends]
    if not counted:
        return 0.0
    reserve = _reserve(counted)
    if reserve > delta / 2 or any(phase.noise_multiplier == 0 for phase in counted):
        return math.inf
    interval = grid or _grid(counted)
    with np.errstate(all="ignore"):  # tails may underflow; what comes out is checked
        total = _composed(counted[0], interval, relation)
        for phase in counted[1:]:
            other = _composed(phase, interval, relation)
            total = total.compose(other, tail_mass_truncation=1e-15)
        found = float(total.get_epsilon_for_delta(delta - reserve))
    return max(found, 0.0) if math.isfinite(found) else math.inf


def _interpolated(low: tuple[int, float], high: tuple[int, float], target: float) -> int:
    """About where epsilon reaches the target, between two (steps, epsilon) around it; it grows
    like a power of the steps.
    """
    if not 0 < low[1] < target or math.isinf(high[1]) or not low[0]:
        return (low[0] + high[0]) // 2
    power = math.log(high[1] / low[1]) / math.log(high[0] / low[0])
    return int(low[0] * math.exp(math.log(target / low[1]) / power))


def _reserve(phases: Sequence[Phase]) -> float:
    return _ROUNDING_PER_STEP * sum(phase.steps for phase in phases if phase.spends)


def _grid(phases: Sequence[Phase]) -> float:
    """The discretization of the privacy loss for some phases. It depends on their noise and rate
    but not on their steps, so epsilon never falls from one step to the next.
    """
    shapes = [_shape(phase) for phase in phases if phase.rate > 0 and phase.noise_multiplier > 0]
    shapes = [(reach, deviation) for reach, deviation in shapes if reach > 0]
    if not shapes:
        return 1.0
    fine = min(
        max(
            min(_FINE * deviation, reach / _LEAST_POINTS),
            min(_COARSE * deviation, reach / _GOOD_POINTS),
        )
        for reach, deviation in shapes
    )
    return max(fine, max(reach for reach, _ in shapes) / _MOST_POINTS)


def _shape(phase: Phase) -> tuple[float, float]:
    """How far a step's privacy loss reaches, and about its standard deviation."""
    noise, rate = phase.noise_multiplier, phase.rate
    if math.isinf(noise):
        return 0.0, 0.0
    exponent = (_TAIL * noise + 0.5) / noise**2
    stays = math.log1p(-rate) if rate < 1 else -math.inf
    goes = math.log(rate)
    reach = float(np.logaddexp(stays, goes + exponent) - np.logaddexp(stays, goes - exponent))
    deviation = rate * math.sqrt(math.expm1(min(noise**-2, 700.0)))
    return reach, min(deviation, 1 / noise)


@lru_cache(maxsize=16)
def _one_step(noise_multiplier: float, rate: float, interval: float, relation: Relation) -> Any:
    related = privacy_loss_distribution.NeighborRel
    replaced = relation == "replace-one"
    return privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=noise_multiplier,
        sampling_prob=rate,
        pessimistic_estimate=True,
        value_discretization_interval=interval,
        neighboring_relation=related.REPLACE_ONE if replaced else related.ADD_OR_REMOVE_ONE,
    )


@lru_cache(maxsize=8)
def _composed(phase: Phase, interval: float, relation: Relation) -> Any:
    one = _one_step(phase.noise_multiplier, phase.rate, interval, relation)
    return one.self_compose(phase.steps)
