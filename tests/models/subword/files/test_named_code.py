"""Models, adapters and templates of strangers that name code: none of it is run."""

import json
import pickle

import pytest
import torch
from jinja2.exceptions import SecurityError
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file

from leakscope.models.subword.files.named_code import refuse_named_code
from leakscope.models.subword.loading import load_causal
from leakscope.records.errors import LeakscopeError
from tiny_causal import network, tokenizer


@pytest.fixture
def model(tmp_path):
    tok = tokenizer("bytes")
    network("gpt2", len(tok)).save_pretrained(tmp_path / "model")
    tok.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A module that leaves a marker when it is imported."""
    marker = tmp_path / "it-was-run"
    (tmp_path / "evil_module.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    return marker


def edit(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_module_that_an_adapter_names_is_not_imported(model, evil, tmp_path):
    torch.manual_seed(0)
    net = network("gpt2", len(tokenizer("bytes")))
    adapted = get_peft_model(net, LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    adapted.save_pretrained(tmp_path / "adapter")
    edit(
        tmp_path / "adapter" / "adapter_config.json",
        megatron_config={"hidden_size": 1},
        megatron_core="evil_module",
        base_model_name_or_path=str(model),
    )
    with pytest.raises(LeakscopeError, match="names code that would be imported or fetched"):
        load_causal(tmp_path / "adapter", base=model)
    assert not evil.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"attn_implementation": "someone/kernel"},
        {"_attn_implementation": "paged|someone/kernel@main:f"},
        {"attn_implementation": {"": "someone/kernel"}},
        {"text_config": {"attn_implementation": "someone/kernel"}},
        {"experts_implementation": "someone/kernel"},
    ],
)
def test_a_kernel_that_a_model_names_is_not_fetched(model, values):
    edit(model / "config.json", **values)
    with pytest.raises(LeakscopeError, match="names code that would be imported or fetched"):
        load_causal(model)


def test_code_in_the_directory_is_not_run(model, evil):
    (model / "evil_module.py").write_text(f"open({str(evil)!r}, 'w').close()\n")
    names = {"AutoConfig": "evil_module.C", "AutoModelForCausalLM": "evil_module.M"}
    edit(model / "config.json", auto_map=names)
    edit(model / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil_module.T", None]})
    load_causal(model)  # transformers knows this kind of model without that code
    assert not evil.exists()
    edit(model / "config.json", model_type="unheard_of")
    with pytest.raises(LeakscopeError, match="needs code of its own"):
        load_causal(model)
    assert not evil.exists()


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (self.marker, "w"))


@pytest.mark.parametrize("name", ["evil.bin", "../model.safetensors", "/evil.safetensors"])
def test_an_index_names_safetensors_of_its_directory_only(model, evil, name):
    (model / "evil.bin").write_bytes(pickle.dumps({"x": Evil(str(evil))}))
    weights = dict.fromkeys(load_file(model / "model.safetensors"), name)
    (model / "model.safetensors").rename(model / "other.safetensors")
    index = {"metadata": {}, "weight_map": weights}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(LeakscopeError, match="names weights that are not safetensors"):
        load_causal(model)
    assert not evil.exists()


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('touch x') }}",
        "{{ messages.append(1) }}",
    ],
)
def test_a_chat_template_stays_in_its_sandbox(template):
    tok = tokenizer("bytes")
    tok.chat_template = template
    with pytest.raises(SecurityError):
        tok.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)


def test_ordinary_configurations_pass(tmp_path):
    for content in ('{"attn_implementation": "sdpa", "megatron_config": null}', "[", "[1]"):
        (tmp_path / "config.json").write_text(content)
        refuse_named_code(tmp_path / "config.json")
    refuse_named_code(tmp_path / "missing.json")
