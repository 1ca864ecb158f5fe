"""The model's answers on validation words: what hardening costs in use."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.leakage.hardening.stored_run import Validation
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import write_parquet
from leakscope.records.run import VALIDATION as SCHEMA

PIECE_WORDS = 200_000


def validation_answers(
    model: LanguageModel, corpus: Corpus, words: int, top_k: int
) -> Validation | None:
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
    return Validation(
        np.concatenate(ranks)[order], np.concatenate(tops)[order], np.concatenate(logs)[order]
    )


def write_answers(path: Path, answers: Validation) -> None:
    """Write `validation.parquet`."""
    columns = [pa.array(answers.rank), pa.array(answers.top_log_prob, from_pandas=True)]
    write_parquet(path, pa.table(columns, schema=SCHEMA))
