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
from leakscope.records.unique import extremeness

TOGETHER = "at the most are judged together (what a user repeats is judged apart)"
REMEDY = " Hold out more documents, or give --stand-ins crossfit."
MEMORY = 0.2
"""A larger share of the chance line that may be memory is told."""
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
    lists: tuple[int, ...]
    """How many unique sequences are judged together, of each list; the longest first."""
    unjudged: int
    """Unique sequences of which nobody can say whether they are chance: those on a list that is too
    short, or whose decoys may be memory."""
    maybe_memory: float
    """How much of the chance line may be memory."""
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
    scores = extremeness(sequences.lengths[rows], mine)
    false = extremeness(sample.lengths, sample.ratios)
    found = np.full(len(sequences), np.nan)
    lists = _lists(of_habit, rows, sample)
    least, unjudged = least_list(sample.weight, rate), 0
    for one, other in lists:
        told = q_values(scores[one], false[other], sample.weights[other], sample.weight)
        found[rows[one]] = told
        if len(told) < least or sample.maybe_memory[other].any():
            unjudged += int((told > rate).sum())
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
        least,
        tuple(sorted((int(one.sum()) for one, _ in lists), reverse=True)),
        unjudged,
        float(sample.weights[sample.maybe_memory].sum()),
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
    if unique and line.lists[0] < line.least_list:
        held = line.source == "held-out"
        because = f"With so little held-out text ({line.words:,} words), at " if held else "At "
        apart = "" if line.lists[0] == unique else f", of which {line.lists[0]:,} " + TOGETHER
        found.append(
            f"{because}least {line.least_list:,} unique sequences would have to stand out to be "
            f"confirmed at {line.rate:.0%}, and there are {unique:,}{apart}: that none is "
            f"confirmed does not mean that none is memorized." + (REMEDY if held else "")
        )
    elif few := sum(size for size in line.lists if size < line.least_list):
        judged = "sequence is" if few == 1 else "sequences are"
        found.append(
            f"{few:,} unique {judged} judged apart from the others, for what their user repeats: "
            f"too few for any to be confirmed, since {line.least_list:,} would have to stand "
            f"out.{REMEDY}"
        )
    if line.maybe_memory > MEMORY * line.chance.value:
        found.append(
            f"About {line.maybe_memory:,.0f} of the {line.chance.value:,.0f} sequences by chance "
            f"are what users repeat, which the model may know from other documents: chance may be "
            f"so much too high. --public crossfit and --stand-ins crossfit tell the two apart."
        )
    if line.of_others > OTHERS:
        found.append(
            f"{line.of_others:.0%} of the held-out words are of users without training documents. "
            f"Chance is measured on them as if they wrote as the others do."
        )
    return tuple(found)
