"""The model's answers on validation words: what hardening costs in use."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import read_parquet, write_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import FloatArray, IntArray
from leakscope.records.runs.occurrence_columns import validation_schema

PIECE_WORDS = 200_000


@dataclass(frozen=True)
class ValidationAnswers:
    """The model's answers on validation words, in no order that would tell which."""

    rank: IntArray
    top_log_prob: FloatArray
    log_prob: FloatArray | None = None
    """Of the word itself; not stored."""


def validation_answers(
    model: LanguageModel, corpus: Corpus, words: int, top_k: int
) -> ValidationAnswers | None:
    """Rank and top log-probability at about `words` validation words, of documents drawn evenly;
    None if there are no validation words. They are shuffled, so that they tell of no document.
    """
    total = corpus.manifest.validation.words
    if not total or not words:
        return None
    rng = np.random.default_rng(0)
    share = min(1.0, words / total)
    ranks, tops, logs = [], [], []
    for documents in corpus.documents(VALIDATION, texts=model.needs_text):
        drawn = documents.take(np.flatnonzero(rng.random(len(documents)) < share))
        for piece in drawn.pieces(PIECE_WORDS):
            scores = model.score(piece, top_k=top_k, every_probability=True)
            ranks.append(scores.rank)
            tops.append(scores.top_log_prob)
            logs.append(scores.log_prob)
    if not sum(map(len, ranks)):
        return None
    order = rng.permutation(sum(map(len, ranks)))
    return ValidationAnswers(
        np.concatenate(ranks)[order], np.concatenate(tops)[order], np.concatenate(logs)[order]
    )


def write_answers(path: Path, answers: ValidationAnswers) -> None:
    """Write `validation.parquet`."""
    columns = [pa.array(answers.rank), pa.array(answers.top_log_prob, from_pandas=True)]
    write_parquet(path, pa.table(columns, schema=validation_schema()))


def stored_answers(run: Path) -> ValidationAnswers | None:
    """The stored answers on validation words; None if there are none."""
    path = run / "validation.parquet"
    if not path.exists():
        return None
    table = read_parquet(path)
    check_columns(path, table, validation_schema(), validation_schema().names)
    if not len(table):
        return None
    return ValidationAnswers(table["rank"].to_numpy(), table["top_log_prob"].to_numpy())
