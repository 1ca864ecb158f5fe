"""What a report must know of the model that it audits, whatever kind of model it is."""

from functools import partial
from pathlib import Path
from typing import Any

from leakscope.auditing.chat_record import chat_record
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import (
    check_base,
    load_for_corpus,
    pretrained_config,
    pretrained_digest,
    pretrained_name,
)
from leakscope.corpus.store import Corpus
from leakscope.leakage.pipeline import Subject
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config
from leakscope.models.word.word_model import WordModel
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.artifacts import digest_of, digest_of_file
from leakscope.records.block_list import BlockList
from leakscope.records.dp_record import without_seed
from leakscope.records.errors import LeakscopeError
from leakscope.records.model import ModelConfig

_TRAINING = ("train_perplexity", "train_perplexity_low", "train_perplexity_high")


def subject_of(
    path: Path, corpus: Corpus, how: LoadingSettings, *, name: str | None, block_list: Path | None
) -> Subject:
    """The model in `path`, which was trained on `corpus`, behind a block list if one is given."""
    check_base(path, how)
    if is_pretrained(path):
        if block_list is not None:
            raise LeakscopeError(
                "A report behind a block list needs a word-level model; for Hugging Face "
                "generation see leakscope.models.wrappers.generation_filter."
            )
        return _pretrained(path, corpus, how, name)
    if how.chat_template is not None:
        raise LeakscopeError("A word-level model has no chat template; leave out --chat-template.")
    return _word_level(path, corpus, how, name, block_list)


def _pretrained(path: Path, corpus: Corpus, how: LoadingSettings, name: str | None) -> Subject:
    chat = chat_record(path, how, corpus)
    digest = pretrained_digest(path, how.base) + how.dtype
    return Subject(
        name=name or pretrained_name(path),
        digest=digest if not chat else digest_of([digest, chat]),
        config=pretrained_config(path, how) | chat,
        load=partial(load_for_corpus, path, corpus.path, how),
        figures={"reasons": dict.fromkeys(_TRAINING, "--full-perplexity would measure it")},
        measured=False,
    )


def _word_level(
    path: Path, corpus: Corpus, how: LoadingSettings, name: str | None, block_list: Path | None
) -> Subject:
    config = load_config(path)
    # Configs of older versions have the value of an insecure seed.
    config = config.model_copy(update={"training": without_seed(config.training)})
    if config.lexicon_digest != corpus.manifest.lexicon_digest:
        raise LeakscopeError(
            f"The model in {path} was trained on a corpus with another lexicon than "
            f"{corpus.path}; give the corpus that it was trained on."
        )
    if config.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(
            f"The model in {path} was trained on another corpus than {corpus.path}; give the "
            f"corpus that it was trained on."
        )
    return Subject(
        name=name or path.resolve().name,
        digest=digest_of_file(path / "model.safetensors")
        if (path / "model.safetensors").exists()
        else "",
        config=config.model_dump(mode="json"),
        load=partial(_load, path, corpus.path, how, block_list),
        figures=_figures(config, corpus),
    )


def _load(
    model: Path, corpus: Path, how: LoadingSettings, block_list: Path | None
) -> LanguageModel:
    """The model behind its block list, in any process."""
    loaded = load_for_corpus(model, corpus, how)
    if block_list is None or not isinstance(loaded, WordModel):
        return loaded
    return BlockedModel(loaded, BlockList.load(block_list), Corpus.open(corpus).lexicon.words)


def _figures(config: ModelConfig, corpus: Corpus) -> dict[str, Any]:
    """What the training measured of this very model on this very corpus."""
    known = config.progress
    accuracy = {
        int(key.removeprefix("validation_top")): value
        for key, value in known.items()
        if key.startswith("validation_top") and value is not None
    }
    figures = {key: known.get(key) for key in (*_TRAINING, "validation_perplexity")}
    reasons = dict.fromkeys(
        ("validation_perplexity", "validation_accuracy"),
        "the loss is beyond any number: the training diverged"
        if corpus.manifest.validation.documents
        else "the corpus has no validation documents",
    )
    if config.privacy is not None:
        reasons |= dict.fromkeys(
            _TRAINING, "a private training does not measure it; --full-perplexity would"
        )
    return figures | {"validation_accuracy": accuracy or None, "reasons": reasons}
