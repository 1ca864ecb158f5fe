"""Differential rank: how many sequences of the same length have a greater score.

A beam search gives a lower bound. The true rank takes looking at every sequence, except for those
whose beginning rules them out: a term is at most 1, so a beginning that is more than one per
missing entry behind cannot catch up. For sequences with great scores very few are left, however
large the vocabulary is.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from leakscope.models.interface import Prefix
from leakscope.updates.beam_search import Beam, extensions
from leakscope.updates.best_extensions import Extensions
from leakscope.updates.model_pair import ModelPair
from leakscope.updates.score_rule import ScoreRule

TIE = 1e-6
"""Scores that are closer to each other than this per entry are equal: that is float32's noise."""


@dataclass(frozen=True)
class Rank:
    """Of one sequence; 0 is the most exposed."""

    value: int
    method: Literal["exact", "lower bound"]
    """A lower bound: a search has found so many with greater scores, and may have missed others."""


def rank_in_beam(beam: Beam, score: float) -> Rank:
    """How many sequences of a search have a greater score."""
    length = beam.entries.shape[1]
    return Rank(int((beam.scores > score + TIE * length).sum()), "lower bound")


def exact_rank(
    pair: ModelPair,
    length: int,
    score: float,
    rule: ScoreRule,
    prefix: Prefix = (),
    most_rows: int = 50_000,
) -> Rank | None:
    """The true rank of a sequence of this score; None: more than `most_rows` beginnings of one
    length would have to be followed.
    """
    after, scores = pair.begin(prefix), np.zeros(1)
    sought = score + TIE * length
    if any(
        after.size**place > most_rows and sought - (length - place) * rule.most < -place
        for place in range(1, length)
    ):  # no term is below -1, so that every beginning of this length could catch up
        return None
    for place in range(1, length + 1):
        bar = sought - (length - place) * rule.most
        found: list[Extensions] = []
        rows = 0
        for some in extensions(after, scores, rule, lambda bar=bar: bar):  # type: ignore[misc]
            rows += len(some.scores)
            if place < length:
                if rows > most_rows:
                    return None
                found.append(some)
        if place == length:
            return Rank(rows, "exact")
        if not rows:
            return Rank(0, "exact")
        kept = Extensions.joined(found)
        after, scores = after.extended(kept.rows, kept.entries), kept.scores
    raise AssertionError("a sequence has at least one entry")
