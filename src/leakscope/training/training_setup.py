"""What a training works on: a network, and the training text as it reads it."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import (
    ancestry_of,
    architecture_record,
    vocabulary_origin,
    words_of,
)
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import Documents, IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.records.models.model_config import ModelConfig, Without, users_digest
from leakscope.training.distributed.rank_group import RankGroup
from leakscope.training.mitigations.mitigation import Workbench
from leakscope.training.steps.batches import TrainingText
from leakscope.training.steps.plain_step import make_optimizer
from leakscope.training.steps.spilled_text import entries_of, training_documents
from leakscope.training.text_origin import made_of
from leakscope.training.train_settings import TrainSettings
from leakscope.training.vocabulary import known_words
from leakscope.training.warm_start import copy_known


@dataclass(frozen=True)
class StartingPoint:
    """What a training starts from, beside its settings and its corpus."""

    warm_start: Path | None
    weights: str | None
    """The digest of the weights of `warm_start`."""
    without_users: IntArray | None
    vocabulary_from: Path | None


class TrainingSetup:
    """A fresh network with its optimizer, and its text; a long text is in files in `scratch`."""

    def __init__(
        self,
        corpus: Corpus,
        settings: TrainSettings,
        start: StartingPoint,
        ranks: RankGroup,
        scratch: Path | None = None,
    ) -> None:
        self.corpus, self.settings, self._start, self._ranks = corpus, settings, start, ranks
        vocabulary = (
            known_words(corpus.lexicon, settings.vocabulary, settings.vocabulary_users)
            if start.vocabulary_from is None
            else words_of(start.vocabulary_from)
        )
        self._generator = torch.Generator().manual_seed(settings.seed)
        network = make_network(settings.architecture, len(vocabulary) + 2, self._generator)
        self._ancestry = []
        if start.warm_start is not None:
            copy_known(start.warm_start, network, vocabulary)
            self._ancestry = ancestry_of(start.warm_start)
        self._words_from = (
            None if start.vocabulary_from is None else vocabulary_origin(start.vocabulary_from)
        )
        self.model = WordModel(network, vocabulary).reading(corpus.lexicon)
        self.optimizer = make_optimizer(
            self.model.network, settings.optimizer, settings.learning_rate
        )
        self.documents, self._without = _left(corpus, start.without_users, scratch)
        self._text = TrainingText(
            entries_of(self.model, self.documents, scratch),
            self.documents.offsets,
            self.model.mark,
            settings.max_words,
            scratch,
        )

    def workbench(self) -> Workbench:
        """What a mitigation works on."""
        settings, words_from = self.settings, self._words_from
        left_out = "" if self._without is None else self._without.digest
        return Workbench(
            ranks=self._ranks,
            network=self.model.network,
            optimizer=self.optimizer,
            text=self._text,
            documents=self.documents,
            generator=self._generator,
            text_digest=digest_of([self.corpus.manifest.digest, left_out]),
            epochs=settings.epochs,
            batch_size=settings.batch_size,
            max_words=settings.max_words,
            clip=settings.clip,
            learning_rate=settings.learning_rate,
            seed=settings.seed,
            vocabulary_users=settings.vocabulary_users,
            public_vocabulary=words_from is not None and not made_of(words_from, self.corpus),
            warm_started=self._start.warm_start is not None,
        )

    def config(self, progress: dict[str, Any], mitigation: MitigationRecord) -> ModelConfig:
        """What is written beside the weights."""
        manifest = self.corpus.manifest
        return ModelConfig(
            architecture=architecture_record(self.settings.architecture),
            vocabulary=len(self.model.vocabulary),
            vocabulary_digest=words_digest(self.model.vocabulary),
            lexicon_digest=manifest.lexicon_digest,
            corpus_digest=manifest.digest,
            lowercase=manifest.settings.lowercase,
            parameters=sum(weight.numel() for weight in self.model.network.parameters()),
            training=self.settings.shareable(),
            progress=progress,
            initialized_from=self._start.weights,
            without_users=self._without,
            ancestry=self._ancestry,
            mitigation=mitigation,
            vocabulary_from=self._words_from,
            corpus_inputs=[given.digest for given in manifest.inputs],
            versions={
                "leakscope": version("leakscope"),
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        )


def _left(
    corpus: Corpus, without: IntArray | None, scratch: Path | None
) -> tuple[Documents, Without | None]:
    """The training documents of all users but these, and a record of who was left out."""
    documents, record = training_documents(corpus, without, scratch), None
    if without is not None:
        record = Without(users=len(np.unique(without)), digest=users_digest(without))
    if not len(documents):
        raise LeakscopeError("No document is left to train on without these users.")
    return documents, record
