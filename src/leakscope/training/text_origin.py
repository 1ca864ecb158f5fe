"""Whether a model or a vocabulary comes from a corpus, as far as digests tell."""

from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import load_config
from leakscope.records.models.model_config import TextOrigin


def comes_from(model: Path, corpus: Corpus) -> bool:
    """Whether a model, or one that it was started from, saw this corpus or what it was made of."""
    config = load_config(model)
    seen = {config.corpus_digest, *config.corpus_inputs}
    seen |= {ancestor.corpus_digest for ancestor in config.ancestry}
    return _is_of(seen, config.lexicon_digest, corpus)


def made_of(origin: TextOrigin, corpus: Corpus) -> bool:
    """Whether an origin is this corpus or what it was made of, or may be: published copies do not
    tell.
    """
    return not origin.corpus_digest or _is_of(
        {origin.corpus_digest, *origin.corpus_inputs}, origin.lexicon_digest, corpus
    )


def _is_of(digests: set[str], lexicon: str, corpus: Corpus) -> bool:
    this = corpus.manifest
    mine = {this.digest, *(given.digest for given in this.inputs)}
    return bool(digests & mine) or lexicon == this.lexicon_digest
