"""Perplexity and top-k accuracy of a model on documents."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.models.interface import LanguageModel
from leakscope.records.documents import Documents, Scores
from leakscope.records.ragged import row_sums

PIECE_WORDS = 200_000


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts some documents."""

    words: int
    perplexity: float | None
    """Per word; words outside the vocabulary count with the probability of `<unk>`."""
    low: float | None
    """Ends of the 95% interval of the perplexity over documents like these."""
    high: float | None
    accuracy: dict[int, float]
    """By k: the share of words within the top k; unknown words are never correct."""


def evaluate(
    model: LanguageModel, documents: Iterable[Documents], top_k: tuple[int, ...] = (1, 3)
) -> Evaluation:
    """Evaluate by the full softmax. No words: everything is None, not 0."""
    pieces = (piece for chunk in documents for piece in chunk.pieces(PIECE_WORDS))
    return evaluation_of(
        ((piece, model.score(piece, top_k=max(top_k), every_probability=True)) for piece in pieces),
        top_k,
    )


def evaluation_of(scored: Iterable[tuple[Documents, Scores]], top_k: tuple[int, ...]) -> Evaluation:
    """The same from what a model has said of every word, with ranks below the greatest k."""
    total = np.zeros(3)  # words, -log p, documents
    products = np.zeros(3)  # sums over documents of loss^2, loss * length, length^2
    hits = dict.fromkeys(top_k, 0)
    for piece, scores in scored:
        surprise = -scores.log_prob.astype(np.float64)
        loss = row_sums(surprise, piece.offsets).astype(np.float64)
        lengths = piece.lengths().astype(np.float64)
        total += lengths.sum(), loss.sum(), len(piece)
        products += (loss**2).sum(), (loss * lengths).sum(), (lengths**2).sum()
        for k in top_k:
            hits[k] += int((scores.rank < k).sum())
    words, loss_sum, count = total
    if not words:
        return Evaluation(0, None, None, None, {})
    mean = loss_sum / words
    # Ratio estimator: documents, not words, are the independent draws.
    variance = products[0] - 2 * mean * products[1] + mean**2 * products[2]
    spread = math.sqrt(max(variance, 0.0) * count / max(count - 1, 1)) / words
    accuracy = {k: found / int(words) for k, found in hits.items()}
    if count < 2:  # one document says nothing of how documents vary
        return Evaluation(int(words), perplexity_of(mean), None, None, accuracy)
    ends = (perplexity_of(mean - 1.96 * spread), perplexity_of(mean + 1.96 * spread))
    return Evaluation(int(words), perplexity_of(mean), *ends, accuracy)


def perplexity_of(loss: float) -> float | None:
    """exp of a mean loss; None where it is beyond any float."""
    return math.exp(loss) if loss < 700 else None
