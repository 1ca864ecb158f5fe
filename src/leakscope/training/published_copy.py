"""A copy of a private model that may be published: what its guarantee covers, and no more.

The weights are private by their training. What stands beside them in a model's own directory is
not: the order of the vocabulary tells frequencies, digests let a guess of the text be checked,
figures and times were measured without noise. A copy leaves all of that out. It cannot mend a
training, so models whose words or weights are not fit to be published are refused.
"""

import copy
from pathlib import Path
from typing import Any

import torch

from leakscope.corpus.lexicon import words_digest
from leakscope.models.word.model_directory import load_config, load_model, save_model
from leakscope.models.word.word_model import WordModel
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.training.dp.caveats import DIGESTS, PUBLISHED_VOCABULARY, VOCABULARY_OF_MANY
from leakscope.training.warm_start import WORD_ROWS

FILES = ("vocabulary.json", "model.safetensors", SEAL, "config.json")
_TOLD = ("epoch", "step")
"""Of the progress: what the plan of the training says without looking at the text."""


def publish(model: Path, out: Path) -> ModelConfig:
    """Write a copy of the private model in `model` that may be published into the directory `out`,
    which everybody may read; its config.
    """
    config = load_config(model)
    if why := unpublishable(config):
        raise LeakscopeError(f"{model} cannot be published: {why}")
    sorted_model = in_alphabetical_order(load_model(model))
    told = _told(config, sorted_model)
    with claimed(out, "export") as claim:
        claim.clear(FILES)
        save_model(out, sorted_model, told)
        for name in FILES:  # only now that all of it is there
            (out / name).chmod(0o644)
        out.chmod(0o755)
    return told


def unpublishable(config: ModelConfig) -> str | None:
    """Why no copy of this model may be published, and what to do, as the end of a sentence; None:
    one may.
    """
    if config.published:
        return "it is a published copy already."
    if why := _unprotected(config.privacy):
        return why
    if config.without_users is not None:
        return (
            "it was trained to judge another model, and what it spent of the users' privacy is "
            "counted nowhere; export the audited model."
        )
    if not _has_public_words(config) and _users_of_a_word(config) < 2:
        return (
            "its vocabulary may hold words of a single user, and taking them out now would not "
            "undo what they did to the training; train it with --vocabulary-users 5 or more, or "
            "with --vocabulary-from a model of public text."
        )
    return None


def _unprotected(record: PrivacyRecord | None) -> str | None:
    """Why the training protects nobody, and what to do, as the end of a sentence."""
    if record is None:
        return (
            "it was trained without differential privacy, and no copy changes what its weights "
            "hold; train it with --mitigation dp."
        )
    if record.insecure_seed:
        return (
            "its noise came from a seed, which anybody can find by trying; train it without "
            "--insecure-seed."
        )
    if record.epsilon is None:
        return "its training has no epsilon; train it with noise in every step."
    doubts = record.doubts()
    return f"{doubts[0][0].lower()}{doubts[0][1:]}" if doubts else None


def in_alphabetical_order(model: WordModel) -> WordModel:
    """The same model with its words sorted: in their own order, they tell which are frequent."""
    words = list(model.vocabulary)
    order = sorted(range(len(words)), key=words.__getitem__)
    rows = torch.tensor([*order, model.unknown, model.mark])
    network = copy.deepcopy(model.network)
    state = network.state_dict()
    network.load_state_dict(
        {name: each[rows] if name in WORD_ROWS else each for name, each in state.items()}
    )
    return WordModel(network, [words[place] for place in order], noise=model.noise)


def _told(config: ModelConfig, model: WordModel) -> ModelConfig:
    """The config of the copy."""
    changes: dict[str, Any] = {
        "published": True,
        "vocabulary_digest": words_digest(list(model.vocabulary)),
        "lexicon_digest": "",
        "corpus_digest": "",
        "corpus_inputs": [],
        "training": {name: said for name, said in config.training.items() if name != "seed"},
        "progress": {name: config.progress[name] for name in _TOLD if name in config.progress},
        "initialized_from": None,
        "ancestry": [],
        "mitigation": _record(config),
    }
    return config.model_copy(update=changes)


def _record(config: ModelConfig) -> PrivacyRecord:
    """The record of differential privacy, with the caveats that still hold."""
    record, users = config.privacy, _users_of_a_word(config)
    if record is None:
        raise LeakscopeError("The model has no record of differential privacy; train it again.")
    before, now = (each.format(users=users) for each in (VOCABULARY_OF_MANY, PUBLISHED_VOCABULARY))
    kept = [now if each == before else each for each in record.caveats if each != DIGESTS]
    return record.model_copy(update={"caveats": kept})


def _has_public_words(config: ModelConfig) -> bool:
    """Whether the vocabulary was taken from other text than the model's, as far as digests tell."""
    origin = config.vocabulary_from
    if origin is None or not origin.corpus_digest:
        return False
    mine = {config.corpus_digest, *config.corpus_inputs}
    other = not mine & {origin.corpus_digest, *origin.corpus_inputs}
    return other and origin.lexicon_digest != config.lexicon_digest


def _users_of_a_word(config: ModelConfig) -> int:
    """How many users every word of a vocabulary that was made from the text has at least."""
    said = config.training.get("vocabulary_users", 1) if config.vocabulary_from is None else 1
    return said if isinstance(said, int) else 1
