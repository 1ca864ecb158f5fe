"""The leakage epsilon in ways that can be read: by length, in nats, with an interval over users."""

import math
from dataclasses import dataclass

import numpy as np

from leakscope.leakage.chance.chance_figures import BEYOND, NO_PUBLIC
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.scratch_columns import slices_of
from leakscope.records.documents import FloatArray
from leakscope.records.measured import Measured
from leakscope.records.runs.run_metrics import Metrics

NO_UNIQUE = "there are no unique sequences"
FEW_USERS = "too few users have unique sequences"
OUTSIDE = 0.025
"""How much lies outside of the interval at each end."""
HARDLY_KNOWN = 1e5
"""A public perplexity beyond this: the model hardly knows the word."""


@dataclass(frozen=True)
class EpsilonFigures:
    """Under the names of `metrics.json`."""

    leakage_epsilon: Measured[float]
    leakage_epsilon_sequence: Measured[int]
    leakage_epsilon_words: Measured[int]
    leakage_epsilon_nats: Measured[float]
    leakage_epsilon_low: Measured[float]
    leakage_epsilon_high: Measured[float]
    leakage_epsilon_by_length: Measured[dict[int, float]]


def epsilon_figures(counted: CountedSequences, findings: UniqueFindings) -> EpsilonFigures:
    """The largest ratio over the unique sequences, and what sets it."""
    sequences = counted.sequences
    rows = np.flatnonzero(sequences.unique)
    if findings.ratios is None or not len(rows):
        return _absent(NO_PUBLIC if findings.ratios is None else NO_UNIQUE)
    ratios = findings.ratios.of_sequence
    worst = int(rows[np.argmax(ratios[rows])])
    epsilon = float(ratios[worst])
    known = np.isfinite(epsilon)
    low = _least_of_resampled(_by_user(counted, ratios))
    lengths = sequences.lengths[rows]
    return EpsilonFigures(
        Measured.of(epsilon if known else None, BEYOND),
        Measured(worst),
        Measured(int(sequences.lengths[worst])),
        Measured.of(math.log(epsilon) if known and epsilon > 0 else None, BEYOND),
        Measured.of(low, FEW_USERS),
        Measured.of(epsilon if known else None, BEYOND),
        Measured(
            {
                int(n): float(top)
                for n in np.unique(lengths)
                if np.isfinite(top := ratios[rows[lengths == n]].max())
            }
        ),
    )


def _absent(why: str) -> EpsilonFigures:
    no_float: Measured[float] = Measured.absent(why)
    no_int: Measured[int] = Measured.absent(why)
    return EpsilonFigures(
        no_float, no_int, no_int, no_float, no_float, no_float, Measured.absent(why)
    )


def _by_user(counted: CountedSequences, ratios: FloatArray) -> FloatArray:
    """[n] the largest ratio of each user of S; minus infinity where none is unique."""
    members, sequences = counted.members, counted.sequences
    most = int(members.users[-1]) + 1  # they are in their order
    present, largest = np.zeros(most, np.bool_), np.full(most, -np.inf, np.float32)
    of_unique = np.where(sequences.unique, ratios, -np.inf)
    for here in slices_of(len(members)):
        users = members.users[here]
        present[users] = True
        np.maximum.at(largest, users, of_unique[sequences.of_member[here]])
    return largest[present]


def _least_of_resampled(largest: FloatArray) -> float | None:
    """The lower end of the interval of the maximum when users are drawn again with replacement. Of
    n users, all draws lie among the j least with probability (j / n)^n, so that no draw is needed.
    The upper end is the maximum itself.
    """
    users = len(largest)
    place = math.ceil(users * OUTSIDE ** (1 / users)) - 1
    found = float(np.sort(largest)[min(place, users - 1)])
    return found if np.isfinite(found) else None


def doubts_about_epsilon(
    metrics: Metrics, counted: CountedSequences, findings: UniqueFindings
) -> tuple[str, ...]:
    """A sentence where a single word that the public model hardly knows sets it."""
    row = metrics.leakage_epsilon_sequence
    if row is None or metrics.leakage_epsilon_words != 1 or findings.ratios is None:
        return ()
    mine = counted.sequences.members_of(np.arange(len(counted.sequences)) == row)
    public = float(np.nanmax(findings.ratios.public_of(mine)))
    if public < HARDLY_KNOWN:
        return ()
    both = metrics.confirmed_epsilon_sequence == row
    what = "leakage epsilon is" if not both else "leakage epsilon and the confirmed epsilon are"
    return (
        f"The {what} set by a single word that the public model hardly knows (it gives it a "
        f"probability of {1 / public:.0e}): {'they say' if both else 'it says'} more about that "
        f"word than about memory. Look at {'' if both else 'the confirmed sequences, and at '}the "
        f"epsilon by length.",
    )
