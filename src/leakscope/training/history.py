"""What a training starts with and leaves behind beside its weights: the vocabulary, a sample of its
text, and the history of its figures.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.store import Corpus
from leakscope.models.evaluation import Evaluation
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import write_parquet
from leakscope.records.documents import Documents
from leakscope.records.model import TextOrigin

SAMPLE_WORDS = 50_000  # of the training text, to measure its perplexity after each snapshot


def known_words(lexicon: Lexicon, most: int, users: int) -> list[str]:
    """The vocabulary: the first `most` words of a lexicon, but for those of too few users, and for
    those that only validation documents have, which cannot be learned and stay unknown.
    """
    trained = (lexicon.counts[:most] > 0) & (lexicon.users[:most] >= users)
    return [lexicon.words[id] for id in np.flatnonzero(trained).tolist()]


def comes_from(model: Path, corpus: Corpus) -> bool:
    """Whether a model, or one that it was started from, saw this corpus or what it was made of, as
    far as digests tell.
    """
    config = load_config(model)
    seen = {config.corpus_digest, *config.corpus_inputs}
    seen |= {ancestor.corpus_digest for ancestor in config.ancestry}
    return _is_of(seen, config.lexicon_digest, corpus)


def made_of(origin: TextOrigin, corpus: Corpus) -> bool:
    """Whether an origin is this corpus or what it was made of, as far as digests tell."""
    return _is_of({origin.corpus_digest, *origin.corpus_inputs}, origin.lexicon_digest, corpus)


def _is_of(digests: set[str], lexicon: str, corpus: Corpus) -> bool:
    this = corpus.manifest
    mine = {this.digest, *(given.digest for given in this.inputs)}
    return bool(digests & mine) or lexicon == this.lexicon_digest


def sample_of(documents: Documents, seed: int) -> Documents:
    """Documents drawn at random until they have about SAMPLE_WORDS words."""
    order = np.random.default_rng([seed, 7]).permutation(len(documents))
    enough = int(np.searchsorted(np.cumsum(documents.lengths()[order]), SAMPLE_WORDS)) + 1
    chosen = np.sort(order[:enough])
    return Documents.of([(int(documents.users[i]), documents.words_of(i).tolist()) for i in chosen])


def describe(line: dict[str, Any], validation: Evaluation) -> str:
    """A line of the history in words."""
    if validation.perplexity is None:
        why = "the loss is beyond any number" if validation.words else "no validation documents"
        return f"epoch {line['epoch']:.2f}: {why}"
    return (
        f"epoch {line['epoch']:.2f}: validation perplexity {validation.perplexity:.2f}, "
        f"top-1 accuracy {100 * validation.accuracy[1]:.2f}%"
    )


def write_history(out: Path, history: list[dict[str, Any]]) -> None:
    """Write `history.parquet`."""
    integer = {"step": pa.int64()}
    schema = pa.schema([(name, integer.get(name, pa.float64())) for name in history[0]])
    write_parquet(out / "history.parquet", pa.Table.from_pylist(history, schema))
