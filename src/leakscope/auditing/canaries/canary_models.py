"""Open the model that canaries are measured on: any that a report can be made on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.auditing.integrity.kept_work import exact_identity, kept_in
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import (
    answers_digest,
    check_base,
    load_for_corpus,
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
from leakscope.models.interface import LanguageModel
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.client import Client
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.remote.handshake import remote_model
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.records.artifacts import digest_of, digest_of_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord


@dataclass(frozen=True)
class CanarySubject:
    """A model that canaries are measured on, and what its files say of it."""

    name: str
    digest: str
    model: LanguageModel
    corpus_digest: str | None = None
    """Of the corpus that it was trained on; None: it does not say."""
    privacy: PrivacyRecord | None = None
    """What differential privacy its training claims, if any."""
    identity: dict[str, Any] | None = None
    """All that decides its answers; None: an endpoint's, which are kept by themselves."""

    def kept_in(self, out: Path, progress: Progress = silent) -> KeptChunks:
        """What an unfinished measurement of this model has kept in the directory `out`."""
        return NOWHERE if self.identity is None else kept_in(out, [self.identity], progress)

    def require_corpus(self, digest: str) -> None:
        """Raise if the model says that it was trained on another corpus than this one."""
        if self.corpus_digest is not None and self.corpus_digest != digest:
            raise LeakscopeError(
                f"The model {self.name} was not trained on the corpus that these canaries were "
                "planted in; give the canaries of its own corpus, or --other-corpus to measure it "
                "for comparison."
            )


def plain_model(path: Path, corpus: Corpus) -> LanguageModel:
    """The model in a path, reading a corpus."""
    return load_for_corpus(find_model(path), corpus.path, LoadingSettings())


def open_subject(path: Path, lexicon: Lexicon, how: LoadingSettings) -> CanarySubject:
    """The model in a path, reading words by a lexicon."""
    import torch

    torch.set_num_threads(how.threads)
    found, how = find_model(path), with_base_found(how)
    check_base(found, how)
    if is_pretrained(found):
        model = load_pretrained(found, how).reading(lexicon)
        digest = answers_digest(found, how)
        identity = exact_identity(pretrained_identity(found, digest, how), how)
        return CanarySubject(pretrained_name(found), digest, model, identity=identity)
    if how.chat_template is not None:
        raise LeakscopeError("A word-level model has no chat template; leave out --chat-template.")
    config = load_config(found)
    return CanarySubject(
        found.resolve().name,
        digest_of_file(found / "model.safetensors"),
        load_model(found, how.device).reading(lexicon),
        config.corpus_digest,
        config.privacy,
        exact_identity(word_identity([found], how), how),
    )


@contextmanager
def served_subject(
    endpoint: Endpoint, limits: RequestLimits, answers: Path, lexicon: Lexicon, progress: Progress
) -> Iterator[CanarySubject]:
    """The model behind an endpoint, for as long as the block runs. At its end the endpoint must
    still serve the model that gave the answers.
    """
    client = Client(endpoint, limits, Answers(answers), progress)
    try:
        model = remote_model(client).reading(lexicon)
        yield CanarySubject(endpoint.model, digest_of(endpoint.record()), model)
        client.confirm()
    finally:
        client.close()
