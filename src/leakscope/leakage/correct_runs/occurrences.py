"""The multiset S: every maximal run of correct words (Inan et al. 2021, Algorithm 1).

Unlike the published pseudo-code, a run that reaches the end of its document is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from leakscope.engine.spilled_array import is_long
from leakscope.leakage.correct_runs.copied_runs import find_copied
from leakscope.leakage.correct_runs.maximal_runs import BLOCK, MaximalRuns, maximal_runs
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)
from leakscope.records.ragged import offsets_of


@dataclass(frozen=True)
class Occurrences:
    """Members of S in the order of the documents; o occurrences with h words in all."""

    users: IntArray
    """[o] the user's number."""
    documents: LongArray
    """[o] the document's number."""
    starts: IntArray
    """[o] position of the first word in its document: the length of the context."""
    copied: BoolArray
    """[o] the same words stood in the context already, one after the other."""
    near_tie: BoolArray
    """[o] a word of it, or the miss that ends it, was decided within float noise."""
    offsets: LongArray
    """[o + 1] occurrence i has the words offsets[i] to offsets[i + 1] of the arrays below."""
    ids: IntArray
    """[h] lexicon ids."""
    rank: IntArray
    """[h]"""
    log_prob: FloatArray
    """[h]"""
    top_log_prob: FloatArray
    """[h] of the model's first choice at that place."""

    def __len__(self) -> int:
        return len(self.users)

    def lengths(self) -> LongArray:
        """[o] words of each occurrence."""
        return np.diff(self.offsets)

    @staticmethod
    def none() -> "Occurrences":
        """No occurrences."""
        return collect(Documents.of([]), Scores.none(), 1)


def collect(documents: Documents, scores: Scores, top_k: int) -> Occurrences:
    """The maximal runs of words with rank < `top_k`, document by document."""
    found = _Found.of(documents, scores, top_k)
    return found.occurrences(0, len(found.runs.rows))


def collected(documents: Documents, scores: Scores, top_k: int) -> Iterator[Occurrences]:
    """The same; of huge documents some at a time."""
    found = _Found.of(documents, scores, top_k)
    if not is_long(len(documents.ids)):
        yield found.occurrences(0, len(found.runs.rows))
        return
    begins = range(0, len(documents.ids), BLOCK)
    cuts = np.searchsorted(found.runs.first, [*begins, len(documents.ids)])
    for low, high in pairwise(cuts.tolist()):
        if high > low:
            yield found.occurrences(low, high)


@dataclass(frozen=True)
class _Found:
    """The runs of some documents, before their words are taken together."""

    documents: Documents
    scores: Scores
    hit: BoolArray
    runs: MaximalRuns
    copied: BoolArray

    @staticmethod
    def of(documents: Documents, scores: Scores, top_k: int) -> "_Found":
        hit = scores.rank < top_k
        runs = maximal_runs(hit, documents.offsets)
        copied = find_copied(documents.ids, documents.offsets, runs.first, runs.lengths)
        return _Found(documents, scores, hit, runs, copied)

    def occurrences(self, low: int, high: int) -> Occurrences:
        """The runs from `low` to `high`."""
        documents, scores, some = self.documents, self.scores, slice(low, high)
        owner, first, stop = self.runs.rows[some], self.runs.first[some], self.runs.stop[some]
        begin, end = (int(first[0]), int(stop[-1])) if high > low else (0, 0)
        words = np.flatnonzero(self.hit[begin:end]) + begin
        # The miss right after a run bounds it: were it a hit, the run would be longer.
        ties = offsets_of(scores.near_tie[begin : end + 1])
        reach = np.minimum(stop + 1, documents.offsets[owner + 1])
        return Occurrences(
            users=documents.users[owner],
            documents=documents.numbers[owner],
            starts=(first - documents.offsets[owner]).astype(np.int32),
            copied=self.copied[some],
            near_tie=ties[reach - begin] > ties[first - begin],
            offsets=offsets_of(stop - first),
            ids=documents.ids[words],
            rank=scores.rank[words],
            log_prob=scores.log_prob[words],
            top_log_prob=scores.top_log_prob[words],
        )
