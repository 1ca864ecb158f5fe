"""What a training works on: a network, and the training text as it reads it."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import (
    ancestry_of,
    architecture_record,
    vocabulary_origin,
    words_of,
)
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import Documents, IntArray
from leakscope.records.dp_record import PrivacyRecord
from leakscope.records.errors import LeakscopeError
from leakscope.records.model import ModelConfig, Without, users_digest
from leakscope.training.history import known_words, made_of
from leakscope.training.steps.batches import TrainingText
from leakscope.training.train_settings import TrainSettings
from leakscope.training.warm_start import copy_known


@dataclass(frozen=True)
class Start:
    """What a training starts from, beside its settings and its corpus."""

    warm_start: Path | None
    weights: str | None
    """The digest of the weights of `warm_start`."""
    without_users: IntArray | None
    vocabulary_from: Path | None


class Material:
    """A fresh network and its text."""

    def __init__(self, corpus: Corpus, settings: TrainSettings, start: Start) -> None:
        self._corpus, self._settings, self._start = corpus, settings, start
        vocabulary = (
            known_words(corpus.lexicon, settings.vocabulary, settings.vocabulary_users)
            if start.vocabulary_from is None
            else words_of(start.vocabulary_from)
        )
        self.generator = torch.Generator().manual_seed(settings.seed)
        network = make_network(settings.architecture, len(vocabulary) + 2, self.generator)
        self._ancestry = []
        if start.warm_start is not None:
            copy_known(start.warm_start, network, vocabulary)
            self._ancestry = ancestry_of(start.warm_start)
        self._words_from = (
            None if start.vocabulary_from is None else vocabulary_origin(start.vocabulary_from)
        )
        self.model = WordModel(network, vocabulary).reading(corpus.lexicon)
        self.documents, self.without = _left(corpus, start.without_users)
        self.text = TrainingText(
            self.model.entries(self.documents),
            self.documents.offsets,
            self.model.mark,
            settings.max_words,
        )

    @property
    def public_vocabulary(self) -> bool:
        """Whether the words come from elsewhere than this text."""
        return self._words_from is not None and not made_of(self._words_from, self._corpus)

    def config(self, progress: dict[str, Any], privacy: PrivacyRecord | None) -> ModelConfig:
        """What is written beside the weights."""
        manifest = self._corpus.manifest
        return ModelConfig(
            architecture=architecture_record(self._settings.architecture),
            vocabulary=len(self.model.vocabulary),
            vocabulary_digest=words_digest(self.model.vocabulary),
            lexicon_digest=manifest.lexicon_digest,
            corpus_digest=manifest.digest,
            lowercase=bool(manifest.settings["lowercase"]),
            parameters=sum(weight.numel() for weight in self.model.network.parameters()),
            training=self._settings.shareable(),
            progress=progress,
            initialized_from=self._start.weights,
            without_users=self.without,
            ancestry=self._ancestry,
            privacy=privacy,
            vocabulary_from=self._words_from,
            corpus_inputs=[given.digest for given in manifest.inputs],
            versions={
                "leakscope": version("leakscope"),
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        )


def _left(corpus: Corpus, without: IntArray | None) -> tuple[Documents, Without | None]:
    """The training documents of all users but these, and a record of who was left out."""
    documents, record = corpus.load(TRAIN), None
    if without is not None:
        record = Without(users=len(np.unique(without)), digest=users_digest(without))
        documents = documents.take(np.flatnonzero(~np.isin(documents.users, without)))
    if not len(documents):
        raise LeakscopeError("No document is left to train on without these users.")
    return documents, record
