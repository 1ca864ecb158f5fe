"""A lower bound on epsilon from one training run (Steinke, Nasr and Jagielski 2023).

Each canary was in the training text or not by a fair coin of its own. Guess the coins from the
model, abstaining where it says little: differential privacy bounds how many guesses can be right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from leakscope.canaries.random_space import space_of
from leakscope.canaries.surprise import known_part, lexicon_of, surprise_of
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import Canary, CanaryManifest
from leakscope.records.errors import LeakscopeError

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Numbers of guesses that are tried, as shares of the coins."""
LEAST_COINS = 20
_STEPS, _MOST = 200, 20.0


def p_value(coins: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """How probable so many correct guesses are at most if the training is (epsilon, delta)-DP for
    the unit of a coin: theorem 5.2 of the paper, beta + 2 * m * delta * alpha.
    """
    return float(p_values(coins, guesses, correct, np.array([epsilon]), delta)[0])


def p_values(coins: int, guesses: int, correct: int, epsilons: Floats, delta: float) -> Floats:
    """`p_value` for many epsilons at once."""
    if not 0 <= correct <= guesses <= coins:
        raise ValueError("There are at most as many correct guesses as guesses, and as coins.")
    beta = stats.binom.sf(correct - 1, guesses, special.expit(epsilons))
    if delta > 0 and correct > 0:
        right = np.arange(correct - 1, -1, -1)
        ways = special.gammaln(guesses + 1) - special.gammaln(right + 1)
        ways -= special.gammaln(guesses - right + 1)
        chances = special.log_expit(epsilons)[:, None] * right
        chances += special.log_expit(-epsilons)[:, None] * (guesses - right)
        # P(correct > X >= correct - i), for i = 1, 2, ...
        below = np.cumsum(np.exp(chances + ways), axis=1)
        beta = beta + 2 * coins * delta * (below / np.arange(1, correct + 1)).max(1)
    found: Floats = np.minimum(beta, 1.0)
    return found


def lower_bound(coins: int, guesses: int, correct: int, delta: float, error: float) -> float:
    """The epsilon below which every value is refuted at the level `error`; 0 if none is. It is the
    first that is not refuted, since with delta the p-value need not rise everywhere.
    """
    low, high = 0.0, _MOST
    for _ in range(3):
        tried = np.linspace(low, high, _STEPS + 1)
        refuted = p_values(coins, guesses, correct, tried, delta) < error
        if not refuted[0]:
            return low
        if refuted.all():
            return high
        first = int(np.argmin(refuted))
        low, high = float(tried[first - 1]), float(tried[first])
    return low


@dataclass(frozen=True)
class Guesses:
    """One number of guesses, and what it came to."""

    guesses: int
    correct: int
    epsilon_lower: float


def guess(scores: Floats, inside: Bools, guesses: int) -> int:
    """How many of so many guesses are right: "in" for the greatest scores, "out" for the least, as
    many of each. NaN: nothing is known, so there is no guess. Coins are not looked at before.
    """
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(-scores[known], kind="stable")]
    said_in, said_out = (guesses + 1) // 2, guesses // 2
    top, bottom = order[:said_in], order[len(order) - said_out :]
    return int(inside[top].sum() + (~inside[bottom]).sum())


def bound_epsilon(
    scores: Floats,
    inside: Bools,
    delta: float,
    confidence: float = 0.95,
    guesses: int | None = None,
) -> list[Guesses]:
    """The bound for each number of guesses that was tried; all of them hold together with this
    confidence, so that the greatest may be taken.
    """
    coins, known = len(scores), int((~np.isnan(scores)).sum())
    tried = [guesses] if guesses is not None else _numbers(known)
    if not tried or tried[-1] > known:
        raise LeakscopeError(
            f"There are {known} canaries with a coin that the model can be asked about; plant more "
            "by --coins and --canaries, or make fewer --guesses."
        )
    error = (1 - confidence) / len(tried)  # Bonferroni
    found = []
    for number in tried:
        correct = guess(scores, inside, number)
        bound = lower_bound(coins, number, correct, delta, error)
        found.append(Guesses(number, correct, bound))
    return found


def _numbers(known: int) -> list[int]:
    if known < LEAST_COINS:
        return []
    return sorted({max(2, int(known * share)) for share in SHARES})


def coin_scores(
    model: LanguageModel,
    manifest: CanaryManifest,
    reference: LanguageModel | None = None,
    progress: Progress = silent,
) -> tuple[Floats, Bools]:
    """(scores [m], in or out [m]) of the canaries with a coin: the greater, the rather in. A score
    is log2 p, less that of a reference model; NaN where a model does not know a word.
    """
    if manifest.coins is None:
        raise LeakscopeError(
            "No coins were tossed for these canaries; plant with --coins user, or --coins document."
        )
    mine = [c for c in manifest.canaries if c.state in ("planted", "left out")]
    inside = np.array([canary.state == "planted" for canary in mine], np.bool_)
    scores = -_surprises(model, manifest, mine, progress)
    if reference is not None:
        scores = scores + _surprises(reference, manifest, mine, progress)
    return scores, inside


def _surprises(
    model: LanguageModel, manifest: CanaryManifest, mine: Sequence[Canary], progress: Progress
) -> Floats:
    """[m] -log2 p of some canaries; NaN where the model does not know a word."""
    found = np.full(len(mine), np.nan)
    lexicon = lexicon_of(manifest)
    for number, record in enumerate(manifest.spaces):
        known = known_part(model, space_of(manifest, record), lexicon)
        here = [index for index, canary in enumerate(mine) if canary.space == number]
        if isinstance(known, str) or not here:
            continue
        rows = known.rows_of([mine[index].choices for index in here])
        sayable = [(index, row) for index, row in zip(here, rows, strict=True) if row is not None]
        if sayable:
            places = np.stack([row for _, row in sayable])
            found[[index for index, _ in sayable]] = surprise_of(
                model, known.space, places, progress
            )
    return found
