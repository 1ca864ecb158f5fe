"""The multiset S: every maximal run of correct words (Inan et al. 2021, Algorithm 1).

Unlike the published pseudo-code, a run that reaches the end of its document is kept.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.correct_runs.copied_runs import find_copied
from leakscope.leakage.correct_runs.maximal_runs import maximal_runs
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
    hit = scores.rank < top_k
    runs = maximal_runs(hit, documents.offsets)
    owner, first, stop = runs.rows, runs.first, runs.stop
    starts = first - documents.offsets[owner]
    words = np.flatnonzero(hit)
    # The miss right after a run bounds it: were it a hit, the run would be longer.
    ties = offsets_of(scores.near_tie)
    reach = np.minimum(stop + 1, documents.offsets[owner + 1])
    return Occurrences(
        users=documents.users[owner],
        documents=documents.numbers[owner],
        starts=starts.astype(np.int32),
        copied=find_copied(documents.ids, documents.offsets, first, stop - first),
        near_tie=ties[reach] > ties[first],
        offsets=offsets_of(stop - first),
        ids=documents.ids[words],
        rank=scores.rank[words],
        log_prob=scores.log_prob[words],
        top_log_prob=scores.top_log_prob[words],
    )
