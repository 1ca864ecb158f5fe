"""Beam search for the sequences whose probability has risen most (algorithm 1 of the paper).

Only the output products are large. They are made for a few rows at a time, the best extensions so
far set a bar, and the older model is asked only where the newer one alone says enough to pass it:
no term is greater than the new probability. So nothing of beam x vocabulary is ever kept, and the
result is that of looking at everything. Equal scores go by the order of the beam, then by entry.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import Prefix
from leakscope.records.documents import FloatArray, LongArray
from leakscope.updates.best_extensions import BestSoFar, Extensions
from leakscope.updates.kept_search import KeptLength, KeptSearch
from leakscope.updates.model_pair import ModelPair, PairedPrefixes
from leakscope.updates.score_rule import Floats, ScoreRule
from leakscope.updates.search_plan import SearchPlan

SPARSE = 1 / 16
"""Where fewer than this share of a block may pass, they are looked up one by one."""
SLACK = 1e-6
"""Bars in float32 are lowered by this, relative to their size; float64 decides."""


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


def extensions(
    after: PairedPrefixes,
    scores: Floats,
    rule: ScoreRule,
    bar: Callable[[], float],
    blocks: Iterable[LongArray] | None = None,
) -> Iterator[Extensions]:
    """All one-entry extensions, of prefixes with these `scores` [n], whose own score exceeds the
    bar as it then is; block by block, in order. `blocks`: only of these of its blocks.
    """
    for block in after.blocks() if blocks is None else blocks:
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


def search(
    pair: ModelPair,
    plan: SearchPlan,
    rule: ScoreRule,
    prefix: Prefix = (),
    progress: Progress = silent,
    kept: KeptChunks = NOWHERE,
) -> list[Beam]:
    """For each length from 1 to the plan's, the sequences found behind `prefix`, the greatest score
    first. Every score is exact; sequences that are not found may have greater ones. What is `kept`
    of a search that was killed is not looked for again.
    """
    root = pair.begin(prefix)
    best = BestSoFar(min(plan.width, root.size))
    for found in extensions(root, np.zeros(1), rule, lambda: best.bar):
        best.offer(found)
    first = empty_beam().longer(best.best())
    groups = np.array_split(np.arange(len(first)), min(plan.groups, len(first)))
    shares = plan.shares(len(first))
    total = sum(plan.width_at(length, each) for each in shares for length in range(1, plan.length))
    steps, known = _Steps(progress, total), KeptSearch.of(kept, plan, rule, prefix, root)
    by_length: list[list[Beam]] = [[] for _ in range(plan.length)]
    for number, rows in enumerate(groups):
        beam = first.at(rows)
        beam = Beam(beam.entries, beam.scores, beam.old, beam.new, np.full(len(beam), number))
        by_length[0].append(beam)
        states = _States(root)
        states.extend(np.zeros(len(beam), np.int64), beam.entries[:, 0])
        for length in range(2, plan.length + 1):
            width, mine = plan.width_at(length, shares[number]), known.at(number, length)
            done = mine.found()
            if done is None:
                done = _best_extensions(states.read(), beam.scores, rule, width, steps, mine)
            else:
                steps.skip(len(beam))
            beam = beam.longer(done)
            by_length[length - 1].append(beam)
            states.extend(done.rows, done.entries)
    steps.tell()
    return [_merged(parts) for parts in by_length]


class _States:
    """Prefixes that are read when they are needed: those of lengths that were kept may never be. It
    is the same reading in the same batches, whenever it happens.
    """

    def __init__(self, root: PairedPrefixes) -> None:
        self._after, self._due = root, list[tuple[LongArray, LongArray]]()

    def extend(self, rows: LongArray, entries: LongArray) -> None:
        """See `PairedPrefixes.extended`."""
        self._due.append((rows, entries))

    def read(self) -> PairedPrefixes:
        """The prefixes as they are now."""
        for rows, entries in self._due:
            self._after = self._after.extended(rows, entries)
        self._due = []
        return self._after


class _Steps:
    """Rows of output products made so far."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def skip(self, rows: int) -> None:
        """These were made earlier."""
        self._done += rows

    def add(self, rows: int) -> None:
        """These were made now."""
        self._done += rows
        self.tell()

    def tell(self) -> None:
        """How many there are."""
        self._progress("search", self._done, self._total, "")


def _best_extensions(
    after: PairedPrefixes,
    scores: Floats,
    rule: ScoreRule,
    width: int,
    steps: _Steps,
    kept: KeptLength,
) -> Extensions:
    """The best extensions of all rows; goes on behind the last chunk that was kept."""
    chunks = after.chunks()
    best, begun = kept.begun(width, len(chunks))
    told = sum(len(block) for chunk in chunks[:begun] for block in chunk)
    steps.skip(told)
    steps.tell()
    for number in range(begun, len(chunks)):
        if number > begun:
            kept.keep_state(number, best)
        for found in extensions(after, scores, rule, lambda: best.bar, chunks[number]):
            best.offer(found)
            seen = int(found.rows[-1]) + 1
            steps.add(seen - told)
            told = seen
    steps.add(len(after) - told)
    found = best.best()
    kept.keep(found, len(chunks))
    return found


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
