"""Documents drawn at random, and what a model says of them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.store import concatenate
from leakscope.models.interface import LanguageModel
from leakscope.records.documents import Documents, Scores

PIECE_WORDS = 200_000


@dataclass(frozen=True)
class ScoredSample:
    """Some documents with the model's answers on all of their words."""

    documents: Documents
    scores: Scores


def drawn(stream: Iterable[Documents], words: int, rng: np.random.Generator) -> Documents:
    """Documents drawn at random until they have about `words` words, in their order. Every document
    has the same chance, and no more than the sample is kept in memory.
    """
    kept, keys = Documents.of([]), np.zeros(0)
    limit = np.inf  # once there are words enough, no greater key can be among the sample's
    for chunk in stream:
        fresh = rng.random(len(chunk))
        better = np.flatnonzero(fresh < limit)
        if not len(better):
            continue
        kept = concatenate([kept, chunk.take(better)]) if len(kept) else chunk.take(better)
        keys = np.append(keys, fresh[better])
        order = np.argsort(keys, kind="stable")
        enough = int(np.searchsorted(np.cumsum(kept.lengths()[order]), words)) + 1
        if enough <= len(order):
            limit = float(keys[order[enough - 1]])
            chosen = np.sort(order[:enough])
            kept, keys = kept.take(chosen), keys[chosen]
    return kept


def scored(model: LanguageModel, documents: Documents, top_k: int) -> ScoredSample:
    """What the model says of every word of these documents."""
    parts = [
        model.score(piece, top_k=top_k, every_probability=True)
        for piece in documents.pieces(PIECE_WORDS)
    ]
    return ScoredSample(documents, joined(parts))


def joined(parts: list[Scores]) -> Scores:
    """Scores of documents that follow each other."""
    empty = Scores.none()
    return Scores(
        np.concatenate([part.rank for part in (empty, *parts)]),
        np.concatenate([part.log_prob for part in (empty, *parts)]),
        np.concatenate([part.top_log_prob for part in (empty, *parts)]),
        np.concatenate([part.near_tie for part in (empty, *parts)]),
    )
