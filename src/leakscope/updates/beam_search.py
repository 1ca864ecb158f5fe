"""Beam search for the sequences whose probability has risen most (algorithm 1 of the paper).

Only the output products are large. They are made for a few rows at a time, the best extensions so
far set a bar, and the older model is asked only where the newer one alone says enough to pass it:
no term is greater than the new probability. So nothing of beam x vocabulary is ever kept, and the
result is that of looking at everything. Equal scores go by the order of the beam, then by entry.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import Prefix
from leakscope.records.documents import FloatArray, LongArray
from leakscope.updates.model_pair import ModelPair, PairedPrefixes
from leakscope.updates.score_rule import Floats, ScoreRule

SPARSE = 1 / 16
"""Where fewer than this share of a block may pass, they are looked up one by one."""
SLACK = 1e-6
"""Bars in float32 are lowered by this, relative to their size; float64 decides."""


class Extensions(NamedTuple):
    """Prefixes with one entry more, in the order of prefix and entry."""

    rows: LongArray
    entries: LongArray
    old: FloatArray
    new: FloatArray
    """Probabilities of the entry."""
    scores: Floats
    """Of the whole sequence."""

    def at(self, places: LongArray) -> "Extensions":
        """Those at some places."""
        return Extensions(
            self.rows[places],
            self.entries[places],
            self.old[places],
            self.new[places],
            self.scores[places],
        )

    @staticmethod
    def joined(parts: "list[Extensions]") -> "Extensions":
        """Several, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        return Extensions(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Beam:
    """m sequences of one length n, the greatest score first."""

    entries: LongArray
    """[m, n]"""
    scores: Floats
    old: FloatArray
    new: FloatArray
    """[m, n] probabilities of each entry after those before it."""
    groups: LongArray
    """[m] in which group of first entries each was found."""

    def __len__(self) -> int:
        return len(self.scores)

    def longer(self, found: Extensions) -> "Beam":
        """The sequences with one entry more."""
        return Beam(
            np.concatenate([self.entries[found.rows], found.entries[:, None]], 1),
            found.scores,
            np.concatenate([self.old[found.rows], found.old[:, None]], 1),
            np.concatenate([self.new[found.rows], found.new[:, None]], 1),
            self.groups[found.rows],
        )

    def at(self, rows: LongArray) -> "Beam":
        """The sequences at some rows."""
        return Beam(
            self.entries[rows], self.scores[rows], self.old[rows], self.new[rows], self.groups[rows]
        )


def empty_beam() -> Beam:
    """The empty sequence, from which all begin."""
    none = np.zeros((1, 0), np.float32)
    return Beam(np.zeros((1, 0), np.int64), np.zeros(1), none, none, np.zeros(1, np.int64))


class BestSoFar:
    """The `width` greatest of all extensions that were offered."""

    def __init__(self, width: int) -> None:
        self._width, self._kept, self._waiting = width, list[Extensions](), 0
        self.bar = -np.inf
        """What a score must exceed to be among them."""

    def offer(self, found: Extensions) -> None:
        """Some more, which come after all that were offered before."""
        self._kept.append(found)
        self._waiting += len(found.scores)
        if self._waiting >= 2 * self._width:
            self._prune()

    def _prune(self) -> None:
        found = Extensions.joined(self._kept)
        found = found.at(np.argsort(-found.scores, kind="stable")[: self._width])
        self._kept, self._waiting = [found], 0
        if len(found.scores) == self._width:
            self.bar = float(found.scores[-1])

    def best(self) -> Extensions:
        """Those that are left, greatest first."""
        self._prune()
        return self._kept[0]


def extensions(
    after: PairedPrefixes, scores: Floats, rule: ScoreRule, bar: Callable[[], float]
) -> Iterator[Extensions]:
    """All one-entry extensions, of prefixes with these `scores` [n], whose own score exceeds the
    bar as it then is; block by block, in order.
    """
    for block in after.blocks():
        least = bar()
        needed = _lowered((least - scores[block]) / rule.most)
        new = after.new_probabilities(block, rule)
        hits = new > needed[:, None]
        counts = hits.sum(1)
        kept = counts.nonzero().squeeze(1).cpu()
        if not len(kept):
            continue
        rows = block[kept.numpy()]
        if len(kept) < len(block):
            new, hits = new[kept], hits[kept]
        old = after.old_probabilities(rows, rule)
        if int(counts.sum()) > SPARSE * new.numel():
            rises = rule.terms(old, new)
            hits = rises > _lowered(least - scores[rows])[:, None]
        at, entries = hits.nonzero(as_tuple=True)
        mine, theirs = old[at, entries].cpu().numpy(), new[at, entries].cpu().numpy()
        places = rows[at.cpu().numpy()]
        risen = rule.terms(mine.astype(np.float64), theirs.astype(np.float64))
        found = Extensions(places, entries.cpu().numpy(), mine, theirs, scores[places] + risen)
        passed = np.flatnonzero(found.scores > least)
        if len(passed):
            yield found if len(passed) == len(found.scores) else found.at(passed)


def _lowered(bars: Floats) -> torch.Tensor:
    """Bars [m] in float32, low enough that rounding lets nothing fall under them."""
    return torch.from_numpy((bars - SLACK * np.maximum(1e-3, np.abs(bars))).astype(np.float32))


@dataclass(frozen=True)
class SearchPlan:
    """How far and how widely to search."""

    length: int = 5
    width: int = 10_000
    """Sequences of one entry that are followed."""
    halving: bool = True
    """Follow half as many at each further step."""
    groups: int = 1
    """Cut the first entries into so many groups by their scores, and search behind each alone."""

    def width_at(self, length: int, share: float = 1.0) -> int:
        """How many sequences of a length to keep, of a group with this share of first entries."""
        width = self.width >> (length - 1) if self.halving else self.width
        return max(1, round(share * width))

    def shares(self, first: int) -> list[float]:
        """Of so many first entries, those of each group."""
        cut = np.array_split(np.arange(first), min(self.groups, first))
        return [len(rows) / first for rows in cut]

    def rows(self, entries: int) -> int:
        """How many prefixes are extended, where there are so many entries."""
        shares = self.shares(min(self.width, entries))
        return sum(
            self.width_at(length, each) for each in shares for length in range(1, self.length)
        )


def search(
    pair: ModelPair,
    plan: SearchPlan,
    rule: ScoreRule,
    prefix: Prefix = (),
    progress: Progress = silent,
) -> list[Beam]:
    """For each length from 1 to the plan's, the sequences found behind `prefix`, the greatest score
    first. Every score is exact; sequences that are not found may have greater ones.
    """
    root = pair.begin(prefix)
    best = BestSoFar(min(plan.width, root.size))
    for found in extensions(root, np.zeros(1), rule, lambda: best.bar):
        best.offer(found)
    first = empty_beam().longer(best.best())
    groups = np.array_split(np.arange(len(first)), min(plan.groups, len(first)))
    shares = plan.shares(len(first))
    total = sum(plan.width_at(length, each) for each in shares for length in range(1, plan.length))
    steps = _Steps(progress, total)
    by_length: list[list[Beam]] = [[] for _ in range(plan.length)]
    for number, rows in enumerate(groups):
        beam = first.at(rows)
        beam = Beam(beam.entries, beam.scores, beam.old, beam.new, np.full(len(beam), number))
        by_length[0].append(beam)
        after = root.extended(np.zeros(len(beam), np.int64), beam.entries[:, 0])
        for length in range(2, plan.length + 1):
            width = plan.width_at(length, shares[number])
            found = _best_extensions(after, beam.scores, rule, width, steps)
            beam = beam.longer(found)
            by_length[length - 1].append(beam)
            if length < plan.length:
                after = after.extended(found.rows, found.entries)
    return [_merged(parts) for parts in by_length]


class _Steps:
    """Rows of output products made so far."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, rows: int) -> None:
        self._done += rows
        self._progress("search", self._done, self._total, "")


def _best_extensions(
    after: PairedPrefixes, scores: Floats, rule: ScoreRule, width: int, steps: _Steps
) -> Extensions:
    best = BestSoFar(width)
    told = 0
    for found in extensions(after, scores, rule, lambda: best.bar):
        best.offer(found)
        seen = int(found.rows[-1]) + 1
        steps.add(seen - told)
        told = seen
    steps.add(len(after) - told)
    return best.best()


def _merged(parts: list[Beam]) -> Beam:
    """The beams of several groups as one, the greatest score first."""
    if len(parts) == 1:
        return parts[0]
    joined = Beam(
        np.concatenate([part.entries for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.old for part in parts]),
        np.concatenate([part.new for part in parts]),
        np.concatenate([part.groups for part in parts]),
    )
    return joined.at(np.argsort(-joined.scores, kind="stable"))
