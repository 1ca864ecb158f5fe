"""Whether a model from elsewhere knows documents by heart that were said to be held out.

A pair of neighbouring words that stands in one document alone cannot be learned from the others.
A model that completes most of the pairs which stand in one held-out document alone, and as many as
it completes of those in one training document alone, has probably been trained on both.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.leakage.asking.document_sample import ScoredSample
from leakscope.records.documents import BoolArray, Documents, LongArray
from leakscope.records.ragged import row_sums

MEMORIZED = 0.5
"""More than this share of such pairs is more than models guess in text that they never saw."""
CLOSE = 0.05
"""The held-out share may be so much below the training share, besides chance."""
LEAST_DOCUMENTS = 10
"""Fewer documents with such pairs say nothing of how documents vary."""
DEVIATIONS = 1.96


@dataclass(frozen=True)
class CompletedPairs:
    """The share of a sample's pairs that the model's first choice completes."""

    documents: int
    """Documents with at least one such pair."""
    share: float
    error: float
    """Its standard error, with documents as the independent draws."""


def memory_of(
    training: ScoredSample, held_out: ScoredSample, corpus: Iterable[Documents]
) -> tuple[CompletedPairs, CompletedPairs]:
    """The completed pairs of both samples: of those that stand in no other document of D. `corpus`
    streams D, which holds the training sample.
    """
    samples = (training, held_out)
    pairs = [first_pairs(sample.documents) for sample in samples]
    known = np.unique(np.concatenate([keys[keys >= 0] for keys in pairs]))
    holders = holders_of(known, corpus)
    found = []
    for sample, keys, alone in zip(samples, pairs, (1, 0), strict=True):
        place = np.searchsorted(known, keys).clip(max=max(len(known) - 1, 0))
        single = (keys >= 0) & (holders[place] == alone) if len(known) else keys >= 0
        found.append(_completed(sample, single))
    return found[0], found[1]


def suspicion(training: CompletedPairs, held_out: CompletedPairs) -> bool:
    """Whether the held-out documents are known by heart, and as well as the training ones."""
    if min(training.documents, held_out.documents) < LEAST_DOCUMENTS:
        return False
    spread = DEVIATIONS * math.hypot(training.error, held_out.error)
    return (
        held_out.share - DEVIATIONS * held_out.error > MEMORIZED
        and training.share - held_out.share <= CLOSE + spread
    )


def first_pairs(documents: Documents) -> LongArray:
    """[w] a key of each word and the word before it, where the two stand there for the first time
    in their document; -1 elsewhere, as at the document's first word.
    """
    keys, rows = _pairs(documents)
    order = np.lexsort((keys, rows))  # stable: equal ones stay in their order
    again = np.zeros(len(keys), np.bool_)
    same = (keys[order][1:] == keys[order][:-1]) & (rows[order][1:] == rows[order][:-1])
    again[order[1:][same]] = True
    return np.where(again, -1, keys)


def holders_of(known: LongArray, corpus: Iterable[Documents]) -> LongArray:
    """[n] how many documents hold each of the pairs `known` (rising keys)."""
    found = np.zeros(len(known), np.int64)
    if not len(known):
        return found
    for documents in corpus:
        keys, rows = _pairs(documents)
        place = np.searchsorted(known, keys).clip(max=len(known) - 1)
        hit = known[place] == keys
        held = np.unique(rows[hit] * len(known) + place[hit])
        found += np.bincount(held % len(known), minlength=len(known))
    return found


def _pairs(documents: Documents) -> tuple[LongArray, LongArray]:
    """[w] the key of each word and the one before it (-1 at a document's beginning), and the row
    of its document.
    """
    ids = documents.ids.astype(np.int64)
    keys = (np.append(0, ids[:-1]) << 32) | ids if len(ids) else ids
    starts = documents.offsets[:-1][documents.lengths() > 0]
    keys[starts] = -1
    return keys, np.repeat(np.arange(len(documents)), documents.lengths())


def _completed(sample: ScoredSample, chosen: BoolArray) -> CompletedPairs:
    offsets = sample.documents.offsets
    sizes = row_sums(chosen, offsets).astype(np.float64)
    right = row_sums(chosen & (sample.scores.rank == 0), offsets).astype(np.float64)
    documents, total = int((sizes > 0).sum()), float(sizes.sum())
    if documents < 2:
        return CompletedPairs(documents, 0.0, math.inf)
    share = float(right.sum()) / total
    # The ratio estimator's variance, as for perplexities.
    squares = float(((right - share * sizes) ** 2).sum())
    return CompletedPairs(
        documents, share, math.sqrt(squares * documents / (documents - 1)) / total
    )
