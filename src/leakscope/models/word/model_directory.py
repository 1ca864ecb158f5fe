"""Model directories: `config.json`, `vocabulary.json`, `model.safetensors`, and their seal."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from leakscope.corpus.lexicon import words_digest
from leakscope.models.device import choose_device
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.logit_noise import measured_noise
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel
from leakscope.records.artifacts import (
    checked_bytes,
    checked_digest,
    damaged,
    digest_of,
    private_directory,
    read_json,
    whole_file,
    write_sealed,
    write_text,
)
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import SCHEMA_VERSION, Ancestor, ModelConfig, TextOrigin


def save_weights(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Write tensors as safetensors, whole or not at all."""
    kept = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with whole_file(path) as partial:
        try:
            save_file(kept, partial)
        except SafetensorError:  # it has the system's error as text only
            raise LeakscopeError(
                f"{path} could not be written; make room on the disk and run it again."
            ) from None


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read tensors written by `save_weights`, as their seal says that they are."""
    try:
        _digest(path)
        return load_file(path)
    except (SafetensorError, OSError):
        raise damaged(path) from None


def save_model(path: Path, model: WordModel, config: ModelConfig, also: Iterable[str] = ()) -> None:
    """Write a model directory; `config.json` comes last, so its presence means completeness. The
    seal has the files `also`, too, which are there already.
    """
    private_directory(path)
    write_text(
        path / "vocabulary.json", json.dumps(list(model.vocabulary), ensure_ascii=False) + "\n"
    )
    save_weights(path / "model.safetensors", model.network.state_dict())
    write_sealed(path / "config.json", config, ["vocabulary.json", "model.safetensors", *also])


def load_config(path: Path) -> ModelConfig:
    """Read `config.json` of a model directory."""
    if not path.is_dir():
        raise LeakscopeError(f"{path} is not a model directory; make one by leakscope train.")
    if _is_foreign(path / "config.json"):
        raise LeakscopeError(f"{path} is a Hugging Face model; only report and probe take those.")
    config = read_json(path / "config.json", ModelConfig, "a model")
    if config.schema_version != SCHEMA_VERSION or config.kind != "word":
        raise LeakscopeError(
            f"{path} holds a model of kind {config.kind}, format {config.schema_version}, which "
            f"this version cannot load."
        )
    return config


def _is_foreign(config: Path) -> bool:
    """Whether a config is that of a Hugging Face model."""
    try:
        found = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "model_type" in found


def weights_digest(path: Path) -> str:
    """The digest of a model's weights, as their seal says that they are."""
    return _digest(path / "model.safetensors")


def answers_digest_of(path: Path) -> str:
    """Of every file that decides what a model says, each as its seal says that it is."""
    names = ("config.json", "vocabulary.json", "model.safetensors")
    return digest_of({name: checked_digest(path / name) for name in names})


def _digest(weights: Path) -> str:
    """The digest of a file of weights, which must be there and as its seal says."""
    if not weights.exists():
        raise LeakscopeError(f"{weights.parent} is not a model: it has no {weights.name}.")
    return checked_digest(weights)


def ancestry_of(path: Path) -> list[Ancestor]:
    """What weights that start from the model in `path` have been through."""
    config = load_config(path)
    last = Ancestor(
        weights=weights_digest(path),
        corpus_digest=config.corpus_digest,
        without_users=config.without_users,
    )
    return [last, *config.ancestry]


def vocabulary_origin(path: Path) -> TextOrigin:
    """The text that the vocabulary of the model in a directory was made of, however many models it
    has been handed through.
    """
    config = load_config(path)
    return config.vocabulary_from or TextOrigin(
        corpus_digest=config.corpus_digest,
        lexicon_digest=config.lexicon_digest,
        corpus_inputs=config.corpus_inputs,
    )


def words_of(path: Path) -> list[str]:
    """The vocabulary of the model in a directory."""
    config = load_config(path)
    try:
        words = TypeAdapter(list[str]).validate_json(checked_bytes(path / "vocabulary.json"))
    except FileNotFoundError:
        raise LeakscopeError(f"{path} is not a model: it has no vocabulary.json.") from None
    except ValidationError:
        raise LeakscopeError(f"{path} has a config or vocabulary that cannot be read.") from None
    if words_digest(words) != config.vocabulary_digest:
        raise LeakscopeError(f"The vocabulary in {path} is not the one its config was saved with.")
    return words


def load_model(path: Path, device: str = "cpu") -> WordModel:
    """Load a model directory to a device ("auto": a GPU if there is one), checking that its parts
    belong together.
    """
    where = choose_device(device)
    config = load_config(path)
    words = words_of(path)
    try:
        architecture = TypeAdapter(Architecture).validate_python(config.architecture)
    except ValidationError:
        raise LeakscopeError(f"{path} has a config or vocabulary that cannot be read.") from None
    tensors = load_weights(path / "model.safetensors")
    if not _can_be(architecture, len(words) + 2, tensors):  # before memory is taken for it
        raise _other_shapes(path)
    network = make_network(architecture, len(words) + 2)
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != expected:
        raise _other_shapes(path)
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise LeakscopeError(f"The weights in {path} are not finite: {name} has NaN or inf.")
    network.load_state_dict(tensors)
    network = network.eval().requires_grad_(False).to(where)
    noise = measured_noise(network) if architecture.kind == "transformer" else None
    return WordModel(network, words, noise=noise)


def _can_be(architecture: Architecture, vocabulary: int, tensors: dict[str, torch.Tensor]) -> bool:
    """Whether `tensors` are as many and as large as those of the network are at least."""
    hidden = architecture.hidden
    positions = architecture.context if architecture.kind == "transformer" else 0
    need = max(vocabulary * architecture.embedding, hidden * hidden, positions * hidden)
    largest = max((tensor.numel() for tensor in tensors.values()), default=0)
    return architecture.layers <= len(tensors) and need <= largest


def _other_shapes(path: Path) -> LeakscopeError:
    return LeakscopeError(f"The weights in {path} do not have the shapes its config names.")


def architecture_record(architecture: Architecture) -> dict[str, Any]:
    """An architecture as plain data for `config.json`."""
    return asdict(architecture)
