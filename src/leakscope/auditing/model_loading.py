"""Open any model that a report can be made on: word-level ones, and causal ones from elsewhere."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.corpus.store import Corpus
from leakscope.models.answer_identity import HERE, AnswerIdentity
from leakscope.models.device import device_kind
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.adapters import base_of
from leakscope.models.subword.causal_model import CausalModel
from leakscope.models.subword.files.deciding_files import ADAPTER, model_files
from leakscope.models.subword.hub import find_model, origin_of
from leakscope.models.subword.loading import is_pretrained, load_causal
from leakscope.models.word.model_directory import answers_digest_of, load_model
from leakscope.records.artifacts import damaged, digest_of, digest_of_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import CausalModelRecord, HubOrigin, NetworkShape
from leakscope.records.models.carried_privacy import read_carried

CAUSAL_PACKAGES = (*HERE, "transformers", "tokenizers")
"""What computes the answers of every causal model."""


def with_base_found(how: LoadingSettings) -> LoadingSettings:
    """The same, with the base found if it is a name of the hub's."""
    return how if how.base is None else replace(how, base=find_model(how.base))


def load_for_corpus(path: Path, corpus: Path, how: LoadingSettings) -> LanguageModel:
    """Load a model, reading a corpus: in any process."""
    import torch

    torch.set_num_threads(how.threads)
    lexicon = Corpus.open(corpus).lexicon
    if is_pretrained(path):
        return load_pretrained(path, how).reading(lexicon)
    return load_model(path, how.device).reading(lexicon)


def load_pretrained(path: Path, how: LoadingSettings) -> CausalModel:
    """Load a causal model from elsewhere; only an adapter takes the base."""
    base = how.base if _is_adapter(path) else None
    loaded = load_causal(path, how.device, how.dtype, base, batch_tokens=how.most_tokens)
    return loaded if how.chat_template is None else loaded.chatting(how.chat_template)


def check_base(path: Path, how: LoadingSettings) -> None:
    """Refuse a base for what is no adapter."""
    if how.base is not None and not _is_adapter(path):
        raise LeakscopeError(f"{path} is not an adapter, so it takes no --base.")


def _is_adapter(path: Path) -> bool:
    return (path / ADAPTER).exists()


def pretrained_digest(path: Path, base: Path | None) -> str:
    """Of every file that decides what a causal model says. An adapter is nothing without its base,
    the one given or the one that it names.
    """
    beneath = base_of(path, base) if _is_adapter(path) else None
    files = model_files(path, beneath)
    return digest_of({name: digest_of_file(file) for name, file in files.items()})


def answers_digest(path: Path, how: LoadingSettings) -> str:
    """Of every file that decides what a causal model says, and of what it computes in."""
    return pretrained_digest(path, how.base) + how.dtype


def word_identity(paths: Sequence[Path], how: LoadingSettings) -> AnswerIdentity:
    """What decides the answers of word-level models that are asked as one. They compute in float32
    and read no texts.
    """
    files = digest_of([answers_digest_of(path) for path in paths])
    return AnswerIdentity(files, device_kind(how.device))


def pretrained_identity(path: Path, digest: str, how: LoadingSettings) -> AnswerIdentity:
    """What decides the answers of the causal model in `path`, whose `answers_digest` this is."""
    packages = (*CAUSAL_PACKAGES, *_packages_of_format(path, how))
    return AnswerIdentity(digest, device_kind(how.device), how.dtype, how.chat_template, packages)


def _packages_of_format(path: Path, how: LoadingSettings) -> list[str]:
    """What else computes a causal model's weights, or its texts."""
    beneath = base_of(path, how.base) if _is_adapter(path) else path
    needed = {
        "peft": _is_adapter(path),
        "gguf": beneath.suffix.lower() == ".gguf",
        "jinja2": how.chat_template is not None,
    }
    return [name for name, is_needed in needed.items() if is_needed]


def pretrained_config(path: Path, how: LoadingSettings) -> CausalModelRecord:
    """What a run says of a causal model, from its files alone."""
    base = base_of(path, how.base) if _is_adapter(path) else None
    known = read_carried(path)
    return CausalModelRecord(
        dtype=how.dtype,
        hub=hub_origin(path),
        base=None if base is None else pretrained_name(base),
        base_digest=None if base is None else pretrained_digest(base, None),
        base_hub=None if base is None else hub_origin(base),
        architecture=_shape(path),
        mitigation=known.record,
        mitigation_unknown=known.reason,
    )


def hub_origin(path: Path) -> HubOrigin | None:
    """Where on the hub a model comes from; None if it is not in the hub's cache."""
    found = origin_of(path)
    return None if found is None else HubOrigin.model_validate(found)


def _shape(path: Path) -> NetworkShape:
    """The network's shape, from the files of a causal model."""
    if path.is_file():
        return NetworkShape(kind="gguf")
    adapter = path / ADAPTER
    if adapter.exists():
        try:
            known = json.loads(adapter.read_bytes())
            return NetworkShape(kind=str(known.get("peft_type", "adapter")))
        except (OSError, ValueError, AttributeError, RecursionError):
            raise damaged(adapter) from None
    known = json.loads((path / "config.json").read_bytes())  # `is_pretrained` has read it
    names = {"layers": ("num_hidden_layers", "n_layer"), "hidden": ("hidden_size", "n_embd")}
    shape = {
        ours: known[theirs] for ours, options in names.items() for theirs in options
        if theirs in known
    }  # fmt: skip
    try:
        return NetworkShape(kind=known["model_type"], **shape)
    except ValidationError:
        raise damaged(path / "config.json") from None


def pretrained_name(path: Path) -> str:
    """What a causal model is called in tables: cached ones lie in folders named by hashes."""
    origin = origin_of(path)
    return path.resolve().stem if origin is None else origin["name"].split("/")[1]
