"""What a report must know of the model that it audits, whatever kind of model it is."""

from functools import partial
from pathlib import Path

from leakscope.auditing.chat_record import chat_record
from leakscope.auditing.known_figures import ASK, figures_of_training
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import (
    answers_digest,
    check_base,
    load_for_corpus,
    pretrained_config,
    pretrained_identity,
    pretrained_name,
    word_identity,
)
from leakscope.corpus.store import Corpus
from leakscope.leakage.subject import Subject
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config, weights_digest
from leakscope.models.word.word_model import WordModel
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.artifacts import digest_of
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import without_seed
from leakscope.records.models.model_figures import ModelFigures


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
    digest = answers_digest(path, how)
    return Subject(
        name=name or pretrained_name(path),
        digest=digest
        if chat is None
        else digest_of([digest, {"chat_template": chat.model_dump()}]),
        config=pretrained_config(path, how).model_copy(update={"chat_template": chat}),
        load=partial(load_for_corpus, path, corpus.path, how),
        identity=pretrained_identity(path, digest, how),
        figures=ModelFigures.without_training(ASK),
        measured=False,
    )


def _word_level(
    path: Path, corpus: Corpus, how: LoadingSettings, name: str | None, block_list: Path | None
) -> Subject:
    config = load_config(path)
    # Configs of older versions have the value of an insecure seed.
    config = config.model_copy(update={"training": without_seed(config.training)})
    if config.published:
        raise LeakscopeError(
            f"{path} is a published copy, which does not say what it was trained on; report on the "
            f"model directory that it was exported from."
        )
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
        digest=weights_digest(path) if (path / "model.safetensors").exists() else "",
        config=config,
        load=partial(load_word_level, path, corpus.path, how, block_list),
        identity=word_identity([path], how),
        figures=figures_of_training(config, corpus),
    )


def load_word_level(
    model: Path, corpus: Path, how: LoadingSettings, block_list: Path | None
) -> LanguageModel:
    """The model behind its block list, in any process."""
    loaded = load_for_corpus(model, corpus, how)
    if block_list is None or not isinstance(loaded, WordModel):
        return loaded
    return BlockedModel(loaded, BlockList.load(block_list), Corpus.open(corpus).lexicon.words)
