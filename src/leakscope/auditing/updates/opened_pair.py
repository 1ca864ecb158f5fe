"""Open the two models of an update: any that leakscope can load here."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leakscope.auditing.integrity.kept_work import exact_identity, kept_in
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import (
    answers_digest,
    check_base,
    load_pretrained,
    pretrained_identity,
    pretrained_name,
    with_base_found,
    word_identity,
)
from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.store import Corpus
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import Prefix
from leakscope.models.remote.endpoint import is_address
from leakscope.models.subword.causal_model import CausalModel
from leakscope.models.subword.files.deciding_files import ADAPTER
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import (
    load_config,
    load_model,
    weights_digest,
)
from leakscope.models.word.word_model import WordModel
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import ModelConfig
from leakscope.updates.model_pair import ModelPair


@dataclass(frozen=True)
class Snapshot:
    """One of two models, and what its files say of it."""

    name: str
    digest: str
    model: WordModel | CausalModel
    config: ModelConfig | None = None
    """Of a model that leakscope trained."""
    identity: dict[str, Any] | None = None
    """All that decides its answers; None: that is not known, so that nothing can be kept."""

    def reading(self, lexicon: Lexicon) -> WordModel | CausalModel:
        """The model, reading documents numbered by a lexicon."""
        return self.model.reading(lexicon)

    def room_behind(self, prefix: Prefix) -> tuple[int | None, int]:
        """(entries that the model reads at most, if there is a limit; how many a prefix takes)."""
        if isinstance(self.model, CausalModel):
            return self.model.context, len(self.model.tokenizer.ids(" ".join(prefix)))
        return self.model.network.context, 1 + len(prefix)

    def require_corpus(self, corpus: Corpus, option: str) -> None:
        """Raise if the model says what it was trained on, and this corpus is not of it."""
        if self.config is None or self.config.published:
            return
        known = {self.config.corpus_digest, *(one.corpus_digest for one in self.config.ancestry)}
        if corpus.manifest.digest not in known:
            raise LeakscopeError(
                f"The model {self.name} was not trained on {corpus.path}; give its own corpus as "
                f"{option}."
            )


@dataclass(frozen=True)
class OpenedPair:
    """Both models."""

    old: Snapshot
    new: Snapshot

    @property
    def pair(self) -> ModelPair:
        """As a search sees them."""
        return ModelPair(self.old.model, self.new.model)

    @property
    def has_tokens(self) -> bool:
        """Whether a search goes through tokens."""
        return isinstance(self.new.model, CausalModel)

    def kept_in(self, out: Path, progress: Progress = silent) -> KeptChunks:
        """What an unfinished diff of these, in these roles, has kept in the directory `out`."""
        known = [each.identity for each in (self.old, self.new) if each.identity is not None]
        return kept_in(out, known, progress) if len(known) == 2 else NOWHERE

    def reversed(self) -> "OpenedPair":
        """With the roles changed."""
        return OpenedPair(self.new, self.old)


def open_pair(old: str, new: str, how: LoadingSettings) -> OpenedPair:
    """Load both models. An adapter's base is the one given, or the one that it names, or the other
    model. The same model twice is refused: every score would be 0, which would say nothing.
    """
    import torch

    torch.set_num_threads(how.threads)
    paths = [_found(each) for each in (old, new)]
    how = with_base_found(how)
    adapters = [(path / ADAPTER).exists() for path in paths]
    if how.base is not None and not any(adapters):
        check_base(paths[1], how)
    opened = [_open(path, other, how) for path, other in zip(paths, reversed(paths), strict=True)]
    if opened[0].digest == opened[1].digest:
        raise LeakscopeError(
            f"{old} and {new} are the same model, so there is no update to look at; give two "
            "snapshots."
        )
    return OpenedPair(*opened)


def _found(given: str) -> Path:
    if is_address(given):
        raise LeakscopeError(
            f"{given} is an endpoint; diff needs whole distributions, so give two models on this "
            "machine."
        )
    return find_model(Path(os.fspath(given)))


def _open(path: Path, other: Path, how: LoadingSettings) -> Snapshot:
    if not is_pretrained(path):
        config = load_config(path)
        model = load_model(path, how.device)
        identity = exact_identity(word_identity([path], how), how)
        return Snapshot(path.resolve().name, weights_digest(path), model, config, identity)
    how = replace(how, base=_base(path, other, how))
    digest = answers_digest(path, how)
    loaded = load_pretrained(path, how)
    identity = exact_identity(pretrained_identity(path, digest, how), how)
    return Snapshot(pretrained_name(path), digest, loaded, identity=identity)


def _base(path: Path, other: Path, how: LoadingSettings) -> Path | None:
    """What an adapter is laid on; None for what is none, and where only its own file tells."""
    if not (path / ADAPTER).exists():
        return None
    usable = is_pretrained(other) and not (other / ADAPTER).exists()
    return how.base if how.base is not None else other if usable else None
