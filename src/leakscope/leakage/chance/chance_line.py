"""The chance line: how many unique sequences a model without memory would show, and which of them
are more than that.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.chance.count_intervals import (
    Interval,
    clustered_unit,
    count_interval,
    difference,
)
from leakscope.leakage.chance.decoys import Decoys
from leakscope.leakage.chance.q_values import Floats, least_list, q_values
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.documents import BoolArray, FloatArray, LongArray
from leakscope.records.measured import Measured

OTHERS = 0.1
"""A larger share of held-out words of users without training documents is told."""


@dataclass(frozen=True)
class ChanceLine:
    """What decoys say of the unique sequences."""

    q_values: Floats
    """[s] of unique sequences; NaN of the others."""
    rate: float
    """The false discovery rate up to which a sequence is confirmed."""
    chance: Interval
    """Unique sequences that a model without memory would show."""
    excess: Interval
    """Those that are more than that."""
    by_length: dict[int, float]
    """The chance line by length."""
    least_list: int
    """A shorter list of sequences cannot be confirmed, whatever it holds."""
    decoys: int
    words: int
    """Held-out words that were read."""
    of_others: float
    """Share of the held-out words whose users have no training document."""

    @property
    def confirmed(self) -> BoolArray:
        """[s] unique sequences that belong to the list at the rate."""
        with np.errstate(invalid="ignore"):
            found: BoolArray = self.q_values <= self.rate
        return found


@dataclass(frozen=True)
class PublicOpinion:
    """What a public model says of the decoys and the sequences."""

    ratios: FloatArray
    """[s] of the sequences."""
    decoy_ratios: FloatArray
    """[d] of the decoys."""
    predicts: BoolArray | None
    """[d] whether it predicts a decoy in its place; None: it was not trained in the same way, so
    that this says nothing of what comes out without memory."""


def chance_line(
    counted: CountedSequences,
    decoys: Decoys,
    rate: float,
    public: PublicOpinion | None = None,
) -> ChanceLine:
    """Of S, `counted`, at this false discovery rate."""
    sequences, more = counted.sequences, decoys.share.weight
    rows = np.flatnonzero(sequences.unique)
    decoys, theirs, alike = _judged(decoys, public)
    mine = None if public is None else public.ratios[rows]
    scores = extremeness(sequences.lengths[rows].astype(np.int64), mine)
    false = extremeness(decoys.lengths, theirs)
    found = np.full(len(sequences), np.nan)
    for one, other in _lists(sequences.total_in_d[rows] > 1, decoys.repeated, alike=alike):
        found[rows[one]] = q_values(scores[one], false[other], decoys.weights[other], more)
    ones = np.ones(len(rows))
    unit = clustered_unit(_first_documents(counted)[rows], ones, 1.0)
    unique = count_interval(ones, unit)
    # Where few decoys are seen, targets tell how many come at a time.
    unit = clustered_unit(decoys.documents, decoys.weights, more * unit)
    chance = count_interval(decoys.weights, unit)
    by_length = np.bincount(decoys.lengths, weights=decoys.weights)
    return ChanceLine(
        found,
        rate,
        chance,
        difference(unique, chance),
        {int(n): float(by_length[n]) for n in np.flatnonzero(by_length)},
        least_list(more, rate),
        len(decoys),
        decoys.share.held_out,
        decoys.of_others,
    )


def _lists(
    targets: BoolArray, decoys: BoolArray, *, alike: bool
) -> list[tuple[BoolArray, BoolArray]]:
    """Which targets are judged by which decoys, by whether their users repeat them."""
    if alike:
        return [(np.ones_like(targets), np.ones_like(decoys))]
    return [(targets, decoys), (~targets, ~decoys)]


def _judged(decoys: Decoys, public: PublicOpinion | None) -> tuple[Decoys, FloatArray | None, bool]:
    """The decoys that count, their ratios, and whether repeated ones are free of memory, so that
    all are one list.
    """
    if public is None:
        return decoys.merged(np.zeros(len(decoys), np.float32))[0], None, False
    kept = np.ones(len(decoys), np.bool_)
    if public.predicts is not None:
        kept = ~decoys.repeated | public.predicts
    some, ratios = decoys.only(kept).merged(public.decoy_ratios[kept])
    return some, ratios, public.predicts is not None


def doubts_about(chance: Measured[ChanceLine], counted: CountedSequences) -> tuple[str, ...]:
    """What to bear in mind when reading the chance line, a sentence each."""
    line, unique = chance.value, int(counted.sequences.unique.sum())
    if line is None:
        return ()
    found = []
    if 0 < unique < line.least_list:
        found.append(
            f"With so little held-out text ({line.words:,} words), at least {line.least_list:,} "
            f"unique sequences would have to stand out to be confirmed at {line.rate:.0%}, and "
            f"there are {unique:,}: that none is confirmed does not mean that none is memorized. "
            f"Hold out more documents."
        )
    if line.of_others > OTHERS:
        found.append(
            f"{line.of_others:.0%} of the held-out words are of users without training documents. "
            f"Chance is measured on them as if they wrote as the others do."
        )
    return tuple(found)


def extremeness(lengths: LongArray, ratios: FloatArray | None) -> Floats:
    """[n] by which sequences are ordered: the length alone; or, with a public model, the logarithm
    of how many times more probable the whole sequence is to this model than to that one, which is
    the ratio to the power of its words.
    """
    if ratios is None:
        return lengths.astype(np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(ratios.astype(np.float64))
    found: Floats = np.nan_to_num(lengths * logs, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return found


def _first_documents(counted: CountedSequences) -> LongArray:
    """[s] the document that each sequence came out of first."""
    members, of_member = counted.members, counted.sequences.of_member
    found = np.zeros(len(counted.sequences), np.int64)
    found[of_member[::-1]] = members.documents[::-1]
    return found
