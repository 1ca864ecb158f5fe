"""Models, adapters, tokenizers and templates that name code, pickles or files elsewhere."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

from trials.odd_files.case import Commands, OddFile, Pickled, Place, fifo
from trials.odd_files.inputs import DEEP
from trials.odd_files.our_artifacts import unsealed

Spoil = Callable[[Place, Path], object]
TEMPLATES = {
    "globals": "{{ cycler.__init__.__globals__.os.system('touch it-was-run') }}",
    "subclasses": "{{ messages.__class__.__mro__[1].__subclasses__() }}",
    "changes": "{{ messages.append(1) }}",
    "import": "{% import 'os' as os %}{{ os.system('touch it-was-run') }}",
    "broken": "{% for %}{{",
}


def models() -> list[OddFile]:
    causal: dict[str, Spoil] = {
        "code in the directory": _auto_map,
        "a kind that needs code": lambda place, path: (
            _auto_map(place, path),
            _edit(path, model_type="unheard_of"),
        ),
        "a kernel of a hub": lambda place, path: _edit(path, attn_implementation="someone/kernel"),
        "a kernel, hidden": lambda place, path: _edit(
            path, text_config={"_attn_implementation": "x|someone/kernel@main"}
        ),
        "an index that names a pickle": lambda place, path: _index(place, path, "evil.bin"),
        "an index that leads outside": lambda place, path: _index(
            place, path, "../other.safetensors"
        ),
        "an index with a whole path": lambda place, path: _index(
            place, path, str(place.folder / "other.safetensors")
        ),
        "only a pickle": _only_pickle,
        "a pickle beside the weights": lambda place, path: _pickle(
            place, path / "pytorch_model.bin"
        ),
        "no tokenizer": lambda place, path: [each.unlink() for each in path.glob("tokenizer*")],
        "a tokenizer of deep JSON": lambda place, path: (path / "tokenizer.json").write_text(
            f'{{"model": {DEEP}}}'
        ),
        "a tokenizer of code": lambda place, path: _edit(
            path,
            "tokenizer_config.json",
            auto_map={"AutoTokenizer": ["evil_module.C", None]},
            tokenizer_class="C",
        ),
        "a tokenizer that is cut": lambda place, path: _cut(path / "tokenizer.json"),
        "a config of deep JSON": lambda place, path: (path / "config.json").write_text(
            f'{{"model_type": "llama", "x": {DEEP}}}'
        ),
        "a config that is a list": lambda place, path: (path / "config.json").write_text("[1, 2]"),
        "absurd sizes": lambda place, path: _edit(path, hidden_size=10**12),
        "weights that are cut": lambda place, path: _cut(path / "model.safetensors"),
        "a header of safetensors of 2^60 bytes": lambda place, path: (
            path / "model.safetensors"
        ).write_bytes((1 << 60).to_bytes(8, "little") + b"{}"),
        "weights as noise": lambda place, path: (path / "model.safetensors").write_bytes(
            b"\x80\x04cposix\nsystem\n"
        ),
        "a config as a pipe": lambda place, path: fifo(path / "config.json"),
        "weights as a pipe": lambda place, path: fifo(path / "model.safetensors"),
        "a generation config of deep JSON": lambda place, path: (
            path / "generation_config.json"
        ).write_text(DEEP),
    }
    found = [OddFile("models", name, _of("causal", spoil)) for name, spoil in causal.items()]
    adapters: dict[str, Spoil] = {
        "an adapter that names a module": lambda place, path: _edit(
            path,
            "adapter_config.json",
            megatron_config={"hidden_size": 1},
            megatron_core="evil_module",
        ),
        "an adapter with a pickle": lambda place, path: (
            (path / "adapter_model.safetensors").unlink(),
            _pickle(place, path / "adapter_model.bin"),
        ),
        "an adapter of a base on a hub": lambda place, path: _edit(
            path, "adapter_config.json", base_model_name_or_path="someone/evil"
        ),
        "an adapter of deep JSON": lambda place, path: (path / "adapter_config.json").write_text(
            f'{{"x": {DEEP}}}'
        ),
        "an adapter with a module of its own": lambda place, path: _edit(
            path,
            "adapter_config.json",
            auto_mapping={"base_model_class": "C", "parent_library": "evil_module"},
        ),
        "an adapter that is cut": lambda place, path: _cut(path / "adapter_model.safetensors"),
        "an adapter of an unknown kind": lambda place, path: _edit(
            path, "adapter_config.json", peft_type="EVIL"
        ),
    }
    found += [OddFile("models", name, _of("adapter", spoil)) for name, spoil in adapters.items()]
    words: dict[str, Spoil] = {
        "a word model as a pipe": lambda place, path: fifo(path / "config.json"),
        "a word model's vocabulary as a pipe": lambda place, path: fifo(path / "vocabulary.json"),
        "a word model's weights as a pipe": lambda place, path: fifo(path / "model.safetensors"),
        "a word model of deep JSON": lambda place, path: (path / "config.json").write_text(
            f'{{"architecture": {DEEP}}}'
        ),
        "a word model of absurd size": _absurd,
        "a word model with a pickle": lambda place, path: _pickle(
            place, path / "model.safetensors"
        ),
    }
    found += [OddFile("models", name, _of("word", spoil)) for name, spoil in words.items()]
    found += [
        OddFile("models", f"a chat template: {name}", _template(text))
        for name, text in TEMPLATES.items()
    ]
    for name, data in {
        "noise": b"GGUF" + bytes(range(256)) * 20,
        "a count of 2^60": b"GGUF\3\0\0\0" + b"\xff" * 16,
    }.items():
        found.append(OddFile("models", f"GGUF, {name}", _gguf(data)))
    return found


def _of(kind: str, spoil: Spoil) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        source = {"causal": place.causal, "adapter": place.adapter, "word": place.made.model}[kind]
        path = place.folder / "received"
        shutil.copytree(source, path)
        (place.folder / "other.safetensors").write_bytes(
            (place.causal / "model.safetensors").read_bytes()
        )
        spoil(place, path)
        unsealed(path)
        return place.reporting(path)

    return prepare


def _edit(path: Path, name: str = "config.json", **values: object) -> None:
    file = path / name
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _auto_map(place: Place, path: Path) -> None:
    shutil.copy(place.folder / "evil_module.py", path / "evil_module.py")
    _edit(path, auto_map={"AutoConfig": "evil_module.C", "AutoModelForCausalLM": "evil_module.C"})


def _pickle(place: Place, path: Path) -> None:
    path.write_bytes(pickle.dumps({"x": Pickled(place.marker)}))


def _only_pickle(place: Place, path: Path) -> None:
    (path / "model.safetensors").unlink()
    _pickle(place, path / "pytorch_model.bin")


def _index(place: Place, path: Path, name: str) -> None:
    from safetensors import safe_open

    with safe_open(path / "model.safetensors", "numpy") as file:
        weights = dict.fromkeys(file.keys(), name)
    (path / "model.safetensors").unlink()
    _pickle(place, path / "evil.bin")
    index = {"metadata": {}, "weight_map": weights}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))


def _absurd(place: Place, path: Path) -> None:
    config = json.loads((path / "config.json").read_text())
    config["architecture"] |= {"hidden": 10**9, "layers": 10**6}
    (path / "config.json").write_text(json.dumps(config))


def _template(text: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        path = place.folder / "received"
        shutil.copytree(place.causal, path)
        _edit(path, "tokenizer_config.json", chat_template=text)
        (path / "chat_template.jinja").write_text(text)
        out = place.folder / "reported"
        chat = ("--chat-template", "user", "--trained-on", "train", "--threads", 1)
        return [("report", path, place.made.corpus, *chat, "--out", out)]

    return prepare


def _gguf(data: bytes) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        (place.folder / "received.gguf").write_bytes(data)
        return place.reporting(place.folder / "received.gguf")

    return prepare
