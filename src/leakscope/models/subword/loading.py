"""Models from elsewhere: Hugging Face directories, PEFT adapters, GGUF files.

Nothing is fetched, no code that comes with a model is run, and weights are safetensors or GGUF,
never pickles.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from leakscope.models.device import choose_device
from leakscope.models.subword.adapters import adapted, base_of
from leakscope.models.subword.causal_model import CausalModel, causal_model
from leakscope.models.subword.files.deciding_files import (
    ADAPTER,
    CONFIG,
    network_files,
    tokenizer_files,
    tokenizer_home,
)
from leakscope.models.subword.files.named_code import refuse_named_code
from leakscope.models.subword.soundness import check_finite
from leakscope.models.subword.window_reader import Padding
from leakscope.records.errors import LeakscopeError

SAFELY: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
MOST_LAYERS = 10_000
_DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers")
DTYPES = ("float32", "bfloat16", "float16", "float64")


def is_pretrained(path: Path) -> bool:
    """Whether `path` is a Hugging Face model directory, a PEFT adapter or a GGUF file."""
    if path.suffix.lower() == ".gguf":
        return path.is_file()
    if (path / ADAPTER).is_file():
        return True
    try:
        config = json.loads((path / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and "model_type" in config


def load_causal(
    path: Path,
    device: str = "cpu",
    dtype: str = "float32",
    base: Path | None = None,
    *,
    batch_tokens: int | None = None,
    padding: Padding = "right",
) -> CausalModel:
    """Load a causal language model with its fast tokenizer. Weights are computed with in `dtype`,
    whatever they were saved in. An adapter is merged into its `base` model, a directory or GGUF
    file, by default the one that it names.
    """
    _check_packages(path)
    where = choose_device(device)
    if dtype not in DTYPES:
        raise LeakscopeError(f"There is no dtype {dtype}; take one of {', '.join(DTYPES)}.")
    wanted: torch.dtype = getattr(torch, dtype)
    with _quiet():
        if (path / ADAPTER).is_file():
            beneath = base_of(path, base)
            network = adapted(path, _network(beneath, torch.float32)).to(wanted)
            tokenizer = _tokenizer(tokenizer_home(path, beneath))
        else:
            if base is not None:
                raise LeakscopeError(f"{path} is not an adapter, so it takes no base model.")
            network, tokenizer = _network(path, wanted), _tokenizer(path)
        check_finite(network, str(path))
        network = network.requires_grad_(False).to(where)
        return causal_model(network, tokenizer, batch_tokens=batch_tokens, padding=padding)


def _check_packages(path: Path) -> None:
    needed = ["transformers"]
    if path.suffix.lower() == ".gguf":
        needed += ["gguf", "accelerate"]
    if (path / ADAPTER).is_file():
        needed.append("peft")
    for package in needed:
        if find_spec(package) is None:
            raise LeakscopeError(
                f"{path} needs the package {package}; pip install 'leakscope[huggingface]'."
            )


def _source(path: Path) -> tuple[str, dict[str, Any]]:
    """What `from_pretrained` is called with."""
    if not is_pretrained(path) or (path / ADAPTER).is_file():
        raise LeakscopeError(
            f"{path} is not a Hugging Face model: give a directory with config.json, or a .gguf "
            "file."
        )
    if path.suffix.lower() == ".gguf":
        return str(path.parent), SAFELY | {"gguf_file": path.name}
    return str(path), SAFELY


def _network(path: Path, dtype: torch.dtype) -> Any:
    """The causal network of a directory or GGUF file, all of its weights from there."""
    from transformers import AutoConfig, AutoModelForCausalLM  # noqa: PLC0415

    source, options = _source(path)
    _refuse_absurd_depth(path / CONFIG)
    refuse_named_code(path / CONFIG)
    network_files(path)  # refuses what transformers would take from elsewhere, or as a pickle
    with _readable(path):
        config = AutoConfig.from_pretrained(source, **options)
    if config.is_encoder_decoder or type(config) not in AutoModelForCausalLM._model_mapping:
        raise LeakscopeError(
            f"{path} holds a model of type {config.model_type}, which is not a causal language "
            "model; give one that predicts the next token."
        )
    with _readable(path):
        network, told = AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, use_safetensors=True, output_loading_info=True, **options
        )
    if told["missing_keys"] or told["mismatched_keys"]:
        raise LeakscopeError(
            f"The weights in {path} are not those that its config names; save the model again."
        )
    return network


def _refuse_absurd_depth(config: Path) -> None:
    """Raise if a config names more layers than any model has: transformers would begin to make
    them, and memory would be gone before it looked at the weights.
    """
    if not config.is_file():
        return
    due: list[Any] = [json.loads(config.read_bytes())]
    while due:
        value = due.pop()
        if isinstance(value, dict):
            due += value.values()
            said = [count for name, count in value.items() if name in _DEPTHS]
            if any(isinstance(count, int | float) and count > MOST_LAYERS for count in said):
                raise LeakscopeError(
                    f"{config} names more than {MOST_LAYERS:,} layers; save the model again."
                )


def load_tokenizer(path: Path, base: Path | None = None) -> Any:
    """The fast tokenizer that `load_causal` would take."""
    _check_packages(path)
    with _quiet():
        if (path / ADAPTER).is_file():
            path = tokenizer_home(path, base_of(path, base))
        return _tokenizer(path)


def _tokenizer(path: Path) -> Any:
    from transformers import AutoTokenizer  # noqa: PLC0415

    source, options = (str(path), SAFELY) if path.is_dir() else _source(path)
    tokenizer_files(path)  # refuses those from elsewhere
    try:
        with _readable(path):
            found = AutoTokenizer.from_pretrained(source, **options)
    except LeakscopeError:
        raise LeakscopeError(
            f"{path} has no fast tokenizer that can be read; save one there as tokenizer.json."
        ) from None
    if not found.is_fast:
        raise LeakscopeError(
            f"The tokenizer in {path} does not say where its tokens are in the text; save it as a "
            "fast tokenizer (tokenizer.json)."
        )
    return found


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of transformers as one sentence: they are of many kinds and quote what they read."""
    try:
        yield
    except LeakscopeError:
        raise
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise LeakscopeError(
                f"{path} needs code of its own, which leakscope does not run; give a model that "
                "transformers knows."
            ) from None
        raise LeakscopeError(
            f"{path} cannot be read as a Hugging Face model; its files are missing or damaged."
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no notes of transformers, as they were before."""
    from transformers.utils import logging  # noqa: PLC0415

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
