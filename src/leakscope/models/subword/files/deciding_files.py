"""The files that decide what a Hugging Face model answers: weights, configuration, tokenizer.

Whoever asks what such a model is asks here: its digest, and those who load it. What stands beside
these files decides nothing: README.md, optimizer.pt, and generation_config.json, which is for
`generate` alone. A file that transformers would take from elsewhere, or as a pickle, is refused.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leakscope.records.artifacts import damaged
from leakscope.records.errors import LeakscopeError

CONFIG = "config.json"
ADAPTER, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_END = "safetensors.index.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
TOKENIZER = (
    "tokenizer*.json", "tekken*.json", "special_tokens_map.json", "added_tokens.json",
    "vocab*.json", "vocab*.txt", "merges.txt", "*.model", "tokenizer.model*", "*.spm", "*.tiktoken",
    "chat_template.jinja", "additional_chat_templates/*.jinja",
    "bpe.codes", "dict.txt", "prophetnet.tokenizer", "*_vocab.json", "byte_maps.json",
    "emoji.json", "normalizer.json", "word_shape.json", "word_pronunciation.json",
)  # fmt: skip
"""What tokenizers of transformers are read from."""


def model_files(path: Path, base: Path | None = None) -> dict[str, Path]:
    """The files that decide what the model in `path` answers, by what they are to it. `base`: what
    an adapter is merged into.
    """
    if base is None:
        return _named("network", path, network_files(path)) | _named(
            "tokenizer", path, tokenizer_files(path)
        )
    speaks = tokenizer_home(path, base)
    return {
        **_named("adapter", path, adapter_files(path)),
        **_named("network", base, network_files(base)),
        **_named("tokenizer", speaks, tokenizer_files(speaks)),
    }


def network_files(path: Path) -> list[Path]:
    """The configuration and the weights of a directory; a GGUF file has both."""
    if not path.is_dir():
        if (path.parent / ADAPTER).exists():  # transformers would put it on top
            raise LeakscopeError(
                f"There is an adapter beside {path}, which would change its answers; put the file "
                "into a folder of its own."
            )
        return [path]
    return _here(path, [path / CONFIG, *weight_files(path)])


def weight_files(folder: Path) -> list[Path]:
    """The weights that transformers takes: those that the configuration names, else one file, else
    an index with all of its shards.
    """
    told = _content(folder / CONFIG).get("transformers_weights")
    if told is not None:
        first = _weights(folder, str(told), folder / CONFIG, (".safetensors", f".{_END}"))
    elif (folder / WHOLE).is_file():
        first = folder / WHOLE
    elif (folder / INDEX).is_file():
        first = folder / INDEX
    else:
        raise LeakscopeError(
            f"{folder} has no weights in safetensors; save the model again with save_pretrained."
        )
    if not first.name.endswith(_END):
        return [first]
    shards = _content(first).get("weight_map")
    if not isinstance(shards, dict):
        raise damaged(first)
    names = sorted({str(name) for name in shards.values()})
    return [first, *(_weights(folder, name, first, (".safetensors",)) for name in names)]


def adapter_files(path: Path) -> list[Path]:
    """The configuration and the weights of a PEFT adapter."""
    if not (path / ADAPTER_WEIGHTS).is_file():  # PEFT would go on to look for a pickle
        raise LeakscopeError(f"The adapter {path} has no {ADAPTER_WEIGHTS}; save it again.")
    return _here(path, [path / ADAPTER, path / ADAPTER_WEIGHTS])


def tokenizer_home(path: Path, base: Path) -> Path:
    """Where the tokenizer of an adapter is: beside it, else with its base."""
    return path if (path / "tokenizer.json").is_file() else base


def tokenizer_files(path: Path) -> list[Path]:
    """All that the tokenizer of a directory is made from. That of a GGUF file is in it, but what
    stands beside the file comes first.
    """
    folder = path if path.is_dir() else path.parent
    _refuse_named_tokenizer(folder / TOKENIZER_CONFIG)
    found = {file for pattern in TOKENIZER for file in folder.glob(pattern)}
    if path.is_dir():
        found |= {folder / CONFIG}  # it may say which class
    return _here(folder, sorted(file for file in found if file.is_file() or file.is_symlink()))


def _named(what: str, path: Path, files: Iterable[Path]) -> dict[str, Path]:
    """Files by names that are the same wherever the model is and whatever a GGUF file is called."""
    folder = path if path.is_dir() else path.parent
    names = ("model.gguf" if each == path else each.relative_to(folder) for each in files)
    return {f"{what}/{name}": each for name, each in zip(names, files, strict=True)}


def _weights(folder: Path, name: str, said_by: Path, kinds: tuple[str, ...]) -> Path:
    """The file that a configuration or an index names."""
    if Path(name).name != name or not name.endswith(kinds):
        raise LeakscopeError(
            f"{said_by} names weights that are not safetensors in {folder}; save the model again "
            "with save_pretrained."
        )
    if not (folder / name).is_file():
        raise LeakscopeError(
            f"{said_by} names {name}, which is not there; copy all files of the model."
        )
    return folder / name


def _refuse_named_tokenizer(config: Path) -> None:
    """Raise if a tokenizer's configuration names files elsewhere, or a GGUF file; one that cannot
    be read is left to transformers.
    """
    try:
        told = _content(config)
    except LeakscopeError:
        return
    versions = told.get("fast_tokenizer_files")
    named = versions if isinstance(versions, list) else []
    if "gguf_file" in told or any(Path(str(name)).name != name for name in named):
        raise LeakscopeError(
            f"{config} names a tokenizer that is not a tokenizer.json in its folder; save the "
            "tokenizer again with save_pretrained."
        )


def _here(folder: Path, files: list[Path]) -> list[Path]:
    """The same files, none of which is a link that leads out of the folder. The hub's cache has
    links into a folder of its own.
    """
    home = folder.resolve()
    homes = [home]
    if home.parent.name == "snapshots" and home.parent.parent.name.startswith("models--"):
        homes.append((home.parent.parent / "blobs").resolve())
    for file in files:
        if not any(file.resolve().is_relative_to(each) for each in homes):
            raise LeakscopeError(
                f"{file} is a link that leads out of its folder; put the file itself there."
            )
    return files


def _content(file: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise damaged(file) from None
    if not isinstance(found, dict):
        raise damaged(file)
    return found
