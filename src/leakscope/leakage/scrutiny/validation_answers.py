"""The model's answers on validation words: what hardening costs in use."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus, concatenate
from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.leakage.asking.document_sample import ScoredSample, scored
from leakscope.leakage.scrutiny.validation_documents import ValidationDocuments
from leakscope.records.artifacts import read_parquet, sealed_digest, write_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import FloatArray, IntArray
from leakscope.records.runs.occurrence_columns import validation_schema


@dataclass(frozen=True)
class ValidationAnswers:
    """The model's answers on validation words, in no order that would tell which."""

    rank: IntArray
    top_log_prob: FloatArray
    log_prob: FloatArray | None = None
    """Of the word itself; not stored."""
    documents: ValidationDocuments | None = None
    """What each document costs; None where that is not known."""


def validation_answers(
    model: AskedModel, corpus: Corpus, words: int, top_k: int
) -> tuple[ValidationAnswers, ScoredSample] | None:
    """Rank and top log-probability at about `words` validation words, of documents drawn evenly,
    and where they stand; None if there are no validation words. The answers are shuffled, so that
    they tell of no document.
    """
    total = corpus.held_out.words
    if not total or not words:
        return None
    rng = np.random.default_rng(0)
    share = min(1.0, words / total)
    chosen = [
        chunk.take(np.flatnonzero(rng.random(len(chunk)) < share))
        for chunk in corpus.documents(VALIDATION, texts=model.reads_text)
    ]
    scores = scored(model, chosen, top_k)
    sample = ScoredSample(replace(concatenate(chosen), texts=None), scores)
    if not len(scores.rank):
        return None
    order = rng.permutation(len(scores.rank))
    return (
        ValidationAnswers(
            scores.rank[order],
            scores.top_log_prob[order],
            scores.log_prob[order],
            ValidationDocuments.of([(sample.documents, scores.log_prob)]),
        ),
        sample,
    )


def write_answers(path: Path, answers: ValidationAnswers) -> None:
    """Write `validation.parquet`."""
    columns = [pa.array(answers.rank), pa.array(answers.top_log_prob, from_pandas=True)]
    write_parquet(path, pa.table(columns, schema=validation_schema()))


def stored_answers(run: Path) -> ValidationAnswers | None:
    """The stored answers on validation words; None if there are none."""
    path = run / "validation.parquet"
    if not path.exists() and sealed_digest(path) is None:
        return None
    table = read_parquet(path)
    check_columns(path, table, validation_schema(), validation_schema().names)
    if not len(table):
        return None
    return ValidationAnswers(table["rank"].to_numpy(), table["top_log_prob"].to_numpy())
