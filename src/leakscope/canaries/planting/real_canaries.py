"""Real canaries: each user's training document that surprises a plain model most."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import Canary
from leakscope.records.documents import Documents
from leakscope.records.ragged import row_sums

PIECE_WORDS = 100_000
LEAST_WORDS = 2
"""Shorter documents leave nothing to complete."""


@dataclass(frozen=True)
class RealCanary:
    """A document, by the user who wrote it."""

    user: str
    text: str
    words: list[str]
    perplexity: float


def most_surprising(
    model: LanguageModel,
    corpus: Corpus,
    without: Collection[str] = (),
    progress: Progress = silent,
) -> list[RealCanary]:
    """For each user the training document of the highest perplexity (Mireshghallah et al. 2021,
    appendix A.5), in the order of the corpus; texts in `without` do not count, nor does a document
    with a word that the model cannot say. Of equals, the first.
    """
    best: dict[int, tuple[float, Documents]] = {}
    done, total = 0, corpus.manifest.train.documents
    keys: dict[int, str] = {}
    for shard in corpus.shards:
        keys |= shard.user_keys()
        for chunk in shard.documents(TRAIN, texts=True):
            for piece in chunk.pieces(PIECE_WORDS):
                _keep_best(model, piece, without, best)
                done += len(piece)
                progress("find real canaries", done, total)
    return [
        RealCanary(
            keys[user],
            (found.texts or [""])[0],
            corpus.lexicon.spell(found.ids),
            float(np.exp(min(surprise, 700.0))),
        )
        for user, (surprise, found) in sorted(best.items())
    ]


def listed_for_manifest(
    model: LanguageModel, planted: Corpus, texts: Collection[str], first: int, progress: Progress
) -> tuple[list[Canary], int]:
    """The real canaries of a planted corpus, numbered from `first`, and how many users have none;
    `texts` were planted.
    """
    found = most_surprising(model, planted, texts, progress)
    canaries = [
        Canary(
            id=first + index, state="real", user=each.user, space=None, choices=[],
            text=each.text, words=each.words, repetitions=1, frequency=None, rows=[],
            perplexity=each.perplexity,
        )
        for index, each in enumerate(found)
    ]  # fmt: skip
    return canaries, planted.manifest.train.users - len(found)


def _keep_best(
    model: LanguageModel,
    piece: Documents,
    without: Collection[str],
    best: dict[int, tuple[float, Documents]],
) -> None:
    known = model.knows(piece.ids)
    logs = model.log_probs(piece, np.ones(len(piece.ids), np.bool_)).astype(np.float64)
    lengths = piece.lengths()
    surprise = -row_sums(logs, piece.offsets) / np.maximum(lengths, 1)
    sayable = np.ones(len(piece), np.bool_)
    if known is not None:
        sayable = row_sums(known.astype(np.int64), piece.offsets) == lengths
    for index in np.flatnonzero(sayable & (lengths >= LEAST_WORDS)).tolist():
        user, value = int(piece.users[index]), float(surprise[index])
        if np.isnan(value) or (piece.texts or [""])[index] in without:
            continue
        if user not in best or value > best[user][0]:
            best[user] = (value, piece.take(np.array([index])))
