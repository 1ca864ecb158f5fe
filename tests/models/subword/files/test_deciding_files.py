"""Which files decide what a Hugging Face model answers, and which are refused."""

import ast
import json
import pickle
import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
import transformers
from safetensors.torch import load_file, save_file

from leakscope.auditing.model_loading import pretrained_digest
from leakscope.models.subword.files.deciding_files import TOKENIZER, model_files
from leakscope.models.subword.loading import load_causal, load_tokenizer
from leakscope.records.errors import LeakscopeError
from saved_causal import saved, saved_adapter, write_gguf

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "vocab.txt", "qwen.tiktoken",
    "tokenizer.4.0.json", "chat_template.jinja", "additional_chat_templates/tool.jinja",
)  # fmt: skip
UNRELATED = (
    "README.md", "optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin",
    "trainer_state.json", "generation_config.json", "pytorch_model.bin.index.json",
    "consolidated.safetensors", "eval_results.json", "notes/vocab.json",
)  # fmt: skip


def sharded(path):
    """The model in `path` with its weights in two shards."""
    weights = load_file(path / "model.safetensors")
    names = sorted(weights)
    parts = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, held in parts.items():
        save_file({name: weights[name] for name in held}, path / file, {"format": "pt"})
    (path / "model.safetensors").unlink()
    where = {name: file for file, held in parts.items() for name in held}
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A model in shards that has every file a tokenizer may have, for its digest only."""
    path = tmp_path_factory.mktemp("whole") / "model"
    saved(path)
    sharded(path)
    for name in (*TOKENIZER_FILES, *UNRELATED):
        (path / name).parent.mkdir(exist_ok=True)
        if not (path / name).exists():
            (path / name).write_text("{}")
    return path


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DECIDING = (
    "config.json", "model.safetensors.index.json", "model-1.safetensors", "model-2.safetensors",
    *TOKENIZER_FILES,
)  # fmt: skip


@pytest.mark.parametrize("name", [*DECIDING[:1], *DECIDING[2:]])
def test_one_byte_of_a_deciding_file_makes_another_model(whole, copy, name):
    assert pretrained_digest(copy, None) == pretrained_digest(whole, None)
    path = copy / name
    if name == "config.json":
        path.write_text(path.read_text() + " ")  # still to be read
    else:
        flip(path)
    assert pretrained_digest(copy, None) != pretrained_digest(whole, None)


def test_an_index_is_part_of_the_model(whole, copy):
    path = copy / "model.safetensors.index.json"
    path.write_text(path.read_text() + " ")
    assert pretrained_digest(copy, None) != pretrained_digest(whole, None)


@pytest.mark.parametrize("name", UNRELATED)
def test_an_unrelated_file_does_not(whole, copy, name):
    flip(copy / name)
    assert pretrained_digest(copy, None) == pretrained_digest(whole, None)
    (copy / name).unlink()
    assert pretrained_digest(copy, None) == pretrained_digest(whole, None)


def test_the_patterns_cover_every_tokenizer_of_transformers():
    """The plain reference: what the classes themselves say that they read, also those that need
    packages that are not here.
    """
    read = set()
    for path in (Path(transformers.__file__).parent / "models").glob("*/tokenization_*.py"):
        for line in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(line, ast.Assign) and isinstance(line.value, ast.Dict)
            if named and "VOCAB_FILES_NAMES" in ast.unparse(line.targets[0]):
                read |= {each.value for each in line.value.values if isinstance(each, ast.Constant)}
    assert {"vocab.json", "merges.txt", "tokenizer.model", "spiece.model"} < read
    assert [file for file in read if not any(fnmatch(file, each) for each in TOKENIZER)] == []


def test_an_adapter_is_its_files_and_those_of_the_base_that_it_names(tmp_path):
    adapter, _, tok = saved_adapter(tmp_path)
    before = pretrained_digest(adapter, None)
    assert pretrained_digest(adapter, tmp_path / "base") == before
    changes = [
        adapter / "adapter_model.safetensors",
        tmp_path / "base" / "model.safetensors",
        tmp_path / "base" / "tokenizer.json",
    ]
    for path in changes:
        content = path.read_bytes()
        flip(path)
        assert pretrained_digest(adapter, None) != before
        path.write_bytes(content)
    assert pretrained_digest(adapter, None) == before
    (adapter / "README.md").write_text("changed")
    assert pretrained_digest(adapter, None) == before
    tok.save_pretrained(adapter)  # from now on, the base's tokenizer is not asked
    own = pretrained_digest(adapter, None)
    assert own != before
    flip(tmp_path / "base" / "tokenizer.json")
    assert pretrained_digest(adapter, None) == own
    flip(adapter / "tokenizer.json")
    assert pretrained_digest(adapter, None) != own


def test_a_gguf_file_is_itself_and_the_tokenizer_beside_it(tmp_path):
    net, tok = saved(tmp_path / "model", tokens="bytes")
    (tmp_path / "alone").mkdir()
    path = tmp_path / "alone" / "some.gguf"
    write_gguf(path, net, tok)
    before = pretrained_digest(path, None)
    renamed = path.rename(path.with_name("other.gguf"))
    assert pretrained_digest(renamed, None) == before
    (renamed.parent / "more.gguf").write_bytes(b"GGUF")
    (renamed.parent / "config.json").write_text("{}")
    assert pretrained_digest(renamed, None) == before
    plain = load_tokenizer(renamed)
    # Transformers takes a tokenizer.json from beside the file, if there is one.
    told = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    told["normalizer"] = {"type": "Lowercase"}
    (renamed.parent / "tokenizer.json").write_text(json.dumps(told))
    assert pretrained_digest(renamed, None) != before
    beside = load_tokenizer(renamed)
    assert plain("The CAT")["input_ids"] != beside("The CAT")["input_ids"]
    (renamed.parent / "adapter_config.json").write_text("{}")
    for refused in (load_causal, lambda path: pretrained_digest(path, None)):
        with pytest.raises(LeakscopeError, match="a folder of its own"):
            refused(renamed)


def refused(path, match, base=None):
    """By those who load it and by those who ask what it is."""
    for ask in (lambda: load_causal(path, base=base), lambda: pretrained_digest(path, base)):
        with pytest.raises(LeakscopeError, match=match) as caught:
            ask()
        assert "\n" not in str(caught.value)


@pytest.fixture
def model(tmp_path):
    saved(tmp_path / "model")
    return tmp_path / "model"


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (self.marker, "w"))


def test_a_shard_that_is_missing_is_named(model):
    sharded(model)
    load_causal(model)
    (model / "model-2.safetensors").unlink()
    refused(model, r"names model-2\.safetensors, which is not there; copy all")


@pytest.mark.parametrize("name", ["adapter_model.bin", "../x.safetensors", "sub/x.safetensors"])
def test_weights_that_a_config_names_are_safetensors_of_its_directory(model, tmp_path, name):
    marker = tmp_path / "it-was-run"
    (model / "sub").mkdir()
    for target in (model / name, model / "adapter_model.bin"):
        target.write_bytes(pickle.dumps({"x": Evil(str(marker))}))
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"transformers_weights": name}))
    refused(model, "names weights that are not safetensors")
    assert not marker.exists()


def test_weights_that_a_config_names_are_those_that_count(model):
    (model / "model.safetensors").rename(model / "mine.safetensors")
    config = json.loads((model / "config.json").read_text())
    told = json.dumps(config | {"transformers_weights": "mine.safetensors"})
    (model / "config.json").write_text(told)
    load_causal(model)
    assert set(model_files(model)) >= {"network/mine.safetensors", "network/config.json"}


def test_a_bases_index_is_looked_at_too(tmp_path):
    adapter, _, _ = saved_adapter(tmp_path)
    base = sharded(tmp_path / "base")
    load_causal(adapter)
    index = base / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    told["weight_map"] = dict.fromkeys(told["weight_map"], "evil.bin")
    (base / "evil.bin").write_bytes(pickle.dumps({}))
    index.write_text(json.dumps(told))
    refused(adapter, "names weights that are not safetensors")
    refused(adapter, "names weights that are not safetensors", base)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_link_that_leads_out_of_the_directory_is_refused(model, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (model / name).rename(tmp_path / "elsewhere" / name)
    (model / name).symlink_to(tmp_path / "elsewhere" / name)
    refused(model, "is a link that leads out of its folder")


def test_links_within_the_directory_to_it_and_of_the_hub_are_followed(model, tmp_path):
    digest = pretrained_digest(model, None)
    (model / "model.safetensors").rename(model / "held")
    (model / "model.safetensors").symlink_to("held")
    (tmp_path / "link").symlink_to(model)
    load_causal(tmp_path / "link")
    assert pretrained_digest(tmp_path / "link", None) == digest
    home = tmp_path / "models--acme--tiny"
    snapshot = home / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (home / "blobs").mkdir()
    for file in model.iterdir():
        if file.name != "held":
            (home / "blobs" / file.name).write_bytes(file.read_bytes())
            (snapshot / file.name).symlink_to(Path("../../blobs") / file.name)
    load_causal(snapshot)
    assert pretrained_digest(snapshot, None) == digest


def test_an_adapters_link_is_refused(tmp_path):
    adapter, _, _ = saved_adapter(tmp_path)
    (adapter / "adapter_model.safetensors").rename(tmp_path / "weights")
    (adapter / "adapter_model.safetensors").symlink_to(tmp_path / "weights")
    refused(adapter, "is a link that leads out of its folder")


def test_an_index_for_pickles_beside_safetensors_is_nobodys_business(model):
    """Many models on the hub have both; with safetensors, transformers reads only theirs."""
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "pytorch_model-1.bin"}}
    (model / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    load_causal(model)


@pytest.mark.parametrize(
    "told", [{"gguf_file": "x.gguf"}, {"fast_tokenizer_files": ["../tokenizer.4.0.json"]}]
)
def test_a_tokenizer_is_not_taken_from_elsewhere(model, told):
    path = model / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | told))
    refused(model, "names a tokenizer that is not")
