"""How a public model is trained: like the audited model, but for whom it leaves out."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.store import Corpus
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config, weights_digest, words_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.earlier_config import current_training, digested_training
from leakscope.records.models.model_config import ModelConfig
from leakscope.training.identity import training_changes
from leakscope.training.mitigations.registry import registered
from leakscope.training.train_settings import TrainSettings
from leakscope.training.vocabulary import known_words

_UNDECIDING = ("snapshot_steps", "checkpoint_steps")
"""Settings that change what is kept on the way, and not the weights."""


@dataclass(frozen=True)
class Recipe:
    """All that decides a public model, apart from the corpus and whom it leaves out."""

    settings: TrainSettings
    warm_start: Path | None
    started_from: str | None
    """The digest of the weights of `warm_start`."""
    vocabulary: str
    """The digest of its words."""
    vocabulary_from: Path | None
    """The audited model, where its words are not those that the corpus itself would give."""

    def key(self, users: str, corpus: str) -> list[Any]:
        """What names the directory of a model that leaves out the users with this digest, as plain
        data. Reports tell the name, so nothing secret is in it.
        """
        words = [] if self.vocabulary_from is None else [self.vocabulary]
        told = digested_training(self.settings.shareable())
        return [users, told, corpus, self.started_from or "", *words]

    def differences(
        self, config: ModelConfig, when: tuple[str, str] = ("before", "now")
    ) -> list[str]:
        """What of a model's training is not as in this recipe, in words, whomever it left out;
        `when` says which values are the model's and which the recipe's.
        """
        found = training_changes(_told(config.training), _told(self.settings.shareable()), when)
        if config.initialized_from != self.started_from:
            found.append("another --warm-start")
        if config.vocabulary_digest != self.vocabulary:
            found.append("another vocabulary")
        return found


def recipe_of(model: Path, corpus: Corpus, warm_start: Path | None) -> Recipe:
    """How to train another model like the one in `model`, which was started from `warm_start` if
    it was started from any.
    """
    if is_pretrained(model):
        raise LeakscopeError(
            f"How {model} was trained is not known here; give a --public MODEL, such as its base."
        )
    config = load_config(model)
    if config.initialized_from is not None:
        given = warm_start
        if given is None or weights_digest(given) != config.initialized_from:
            raise LeakscopeError(
                f"The model in {model} was started from another model; give the same one by "
                f"--warm-start so that the public model can start from it too."
            )
        if any(each.corpus_digest == corpus.manifest.digest for each in config.ancestry):
            raise LeakscopeError(
                f"The model in {model} was started from one that was trained on this very corpus, "
                f"so nothing that is started alike would be public; give a --public MODEL."
            )
    settings = settings_of(model, config)
    own = known_words(corpus.lexicon, settings.vocabulary, settings.vocabulary_users)
    foreign = words_digest(own) != config.vocabulary_digest
    if foreign:
        words_of(model)  # found missing or changed now, not after hours of scoring
    return Recipe(
        settings,
        warm_start,
        None if warm_start is None else weights_digest(warm_start),
        config.vocabulary_digest,
        model if foreign else None,
    )


def differences_from(audited: Path, model: ModelConfig) -> list[str]:
    """What of a public model's training is not as the audited model's was, in words, whomever it
    left out.
    """
    config = load_config(audited)
    try:
        settings = settings_of(audited, config)
    except LeakscopeError:
        return ["the audited model does not say how it was trained"]
    recipe = Recipe(settings, None, config.initialized_from, config.vocabulary_digest, None)
    return recipe.differences(model, ("there", "here"))


def settings_of(model: Path, config: ModelConfig) -> TrainSettings:
    """The settings to train another model with, like the one in `model`, on fewer users."""
    told, record = config.training, config.mitigation
    if isinstance(told.get("mitigation"), dict):
        told = told | {"mitigation": _without_seed(told["mitigation"])}
    try:
        settings = TrainSettings.from_record(told)
        if settings.mitigation.kind == record.kind:
            record = registered(record.kind).record().model_validate(record.model_dump())
            return replace(settings, mitigation=settings.mitigation.repeated(record))
    except ValidationError:
        pass
    raise LeakscopeError(
        f"The config of {model} does not say how it was trained; give a --public MODEL."
    )


def _told(training: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training that decide its weights, also those that its version had not yet;
    of settings that cannot be read, all.
    """
    told = current_training(json.loads(json.dumps(training)))
    mitigation = told.get("mitigation")
    seeded = False
    if isinstance(mitigation, dict):
        seeded = mitigation.get("insecure_seed") is not None
        told = told | {"mitigation": _without_seed(mitigation)}
    try:
        settings = TrainSettings.from_record(told)
    except (ValidationError, LeakscopeError):
        return told
    found: dict[str, Any] = json.loads(json.dumps(settings.record()))
    if seeded:
        found["mitigation"]["insecure_seed"] = "given"
    return {name: value for name, value in found.items() if name not in _UNDECIDING}


def _without_seed(mitigation: dict[str, Any]) -> dict[str, Any]:
    """Settings without an insecure seed, of which a config tells only that it was given."""
    return {name: value for name, value in mitigation.items() if name != "insecure_seed"}
