"""Documents drawn at random, and what a model says of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import concatenate
from leakscope.leakage.asking.asked_model import AskedModel, joined
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of_columns
from leakscope.records.documents import Documents, Scores

PIECE_WORDS = 200_000
SLOW_PIECE_WORDS = 20_000
"""The same for models that may take minutes for so many words."""
STAGE = "sample"


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


@dataclass(frozen=True)
class WordsAsked:
    """What the model says of every word of some documents, with every probability."""

    documents: Documents
    top_k: int
    schema: ClassVar[pa.Schema] = pa.schema(
        [
            ("rank", pa.int32()),
            ("log_prob", pa.float32()),
            ("top_log_prob", pa.float32()),
            ("near_tie", pa.bool_()),
        ]
    )

    @property
    def rows(self) -> int:
        """A word each."""
        return len(self.documents.ids)

    def digest(self) -> str:
        """See `Question`."""
        asked = self.documents
        where = (asked.users, asked.numbers, asked.offsets, asked.ids, np.array([self.top_k]))
        return digest_of_columns(*where, texts=asked.texts or ())

    def answer(self, model: LanguageModel) -> pa.RecordBatch:
        """See `Question`."""
        found = model.score(self.documents, top_k=self.top_k, every_probability=True)
        columns = (found.rank, found.log_prob, found.top_log_prob, found.near_tie)
        return pa.record_batch([pa.array(column) for column in columns], schema=self.schema)


def scored(model: AskedModel, documents: Iterable[Documents], top_k: int) -> Scores:
    """What the model says of every word of these documents."""
    words = SLOW_PIECE_WORDS if model.reads_text else PIECE_WORDS
    pieces = [piece for some in documents for piece in some.pieces(words)]
    answers = model.ask(STAGE, [WordsAsked(piece, top_k) for piece in pieces])
    return Scores(
        joined(answers, "rank", np.int32),
        joined(answers, "log_prob", np.float32),
        joined(answers, "top_log_prob", np.float32),
        joined(answers, "near_tie", np.bool_),
    )
