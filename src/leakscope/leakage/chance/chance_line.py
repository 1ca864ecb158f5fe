"""The chance line: how many unique sequences a model without memory would show, and which of them
are more than that.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.chance.chance_sample import ChanceSample
from leakscope.leakage.chance.count_intervals import (
    Interval,
    clustered_unit,
    count_interval,
    difference,
)
from leakscope.leakage.chance.decoys import holding
from leakscope.leakage.chance.q_values import Floats, least_list, q_values
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.documents import BoolArray, FloatArray, LongArray
from leakscope.records.measured import Measured
from leakscope.records.runs.run_metrics import ChanceSource

OTHERS = 0.1
"""A larger share of held-out words of users without training documents is told."""


@dataclass(frozen=True)
class ChanceLine:
    """What decoys say of the unique sequences."""

    source: ChanceSource
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
    """Words that were read for the decoys."""
    of_others: float
    """Share of the held-out words whose users have no training document."""

    @property
    def confirmed(self) -> BoolArray:
        """[s] unique sequences that belong to the list at the rate."""
        with np.errstate(invalid="ignore"):
            found: BoolArray = self.q_values <= self.rate
        return found


def chance_line(
    counted: CountedSequences,
    sample: ChanceSample,
    rate: float,
    *,
    ratios: FloatArray | None = None,
    of_habit: BoolArray | None = None,
) -> ChanceLine:
    """Of S, `counted`, at this false discovery rate. `ratios` [s] are to the public model;
    `of_habit` [s] is what the decoys' own flag is compared with, where they have one.
    """
    sequences = counted.sequences
    rows = np.flatnonzero(sequences.unique)
    mine = None if ratios is None else ratios[rows]
    scores = extremeness(sequences.lengths[rows].astype(np.int64), mine)
    false = extremeness(sample.lengths, sample.ratios)
    found = np.full(len(sequences), np.nan)
    for one, other in _lists(of_habit, rows, sample):
        found[rows[one]] = q_values(scores[one], false[other], sample.weights[other], sample.weight)
    ones = np.ones(len(rows))
    unit = clustered_unit(counted.first_documents()[rows], ones, 1.0)
    unique = count_interval(ones, unit)
    # Where few decoys are seen, targets tell how many come at a time.
    unit = clustered_unit(sample.documents, sample.weights, sample.weight * unit)
    chance = count_interval(sample.weights, unit)
    by_length = np.bincount(sample.lengths, weights=sample.weights)
    return ChanceLine(
        sample.source,
        found,
        rate,
        chance,
        difference(unique, chance),
        {int(n): float(by_length[n]) for n in np.flatnonzero(by_length)},
        least_list(sample.weight, rate),
        len(sample),
        sample.words,
        sample.of_others,
    )


def _lists(
    of_habit: BoolArray | None, rows: LongArray, sample: ChanceSample
) -> list[tuple[BoolArray, BoolArray]]:
    """Which of the targets `rows` are judged by which decoys: all by all, or each kind by its
    own.
    """
    if of_habit is None or sample.of_habit is None:
        return [(np.ones(len(rows), np.bool_), np.ones(len(sample), np.bool_))]
    mine, theirs = of_habit[rows], sample.of_habit
    return [(mine, theirs), (~mine, ~theirs)]


def habits(counted: CountedSequences, repeated_words: BoolArray) -> BoolArray:
    """[s] which sequences their user repeats, or which hold a word that one user alone repeats in D
    (`repeated_words` [lexicon]).
    """
    sequences = counted.sequences
    with_word = holding(repeated_words, *counted.trie.sequences(sequences.nodes))
    found: BoolArray = (sequences.total_in_d > 1) | with_word
    return found


def doubts_about(chance: Measured[ChanceLine], counted: CountedSequences) -> tuple[str, ...]:
    """What to bear in mind when reading the chance line, a sentence each."""
    line, unique = chance.value, int(counted.sequences.unique.sum())
    if line is None:
        return ()
    found = []
    if 0 < unique < line.least_list:
        held = line.source == "held-out"
        because = f"With so little held-out text ({line.words:,} words), at " if held else "At "
        found.append(
            f"{because}least {line.least_list:,} unique sequences would have to stand out to be "
            f"confirmed at {line.rate:.0%}, and there are {unique:,}: that none is confirmed does "
            f"not mean that none is memorized."
            + (" Hold out more documents, or give --stand-ins crossfit." if held else "")
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
