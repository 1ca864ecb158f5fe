"""Models loaded from elsewhere say what they said in memory, and bad ones are refused."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PythonBackend,
    T5Config,
    T5ForConditionalGeneration,
)

from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.loading import is_pretrained, load_causal
from leakscope.records.errors import LeakscopeError
from saved_causal import saved, saved_adapter, write_gguf
from tiny_causal import documents, network, spoken, tokenizer


def changed(path, **values):
    """Write other values into a JSON file."""
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | values))


@pytest.fixture
def adapter(tmp_path):
    """See `saved_adapter`."""
    return saved_adapter(tmp_path)


@pytest.mark.parametrize(("kind", "tokens"), [("gpt2", "bytes"), ("llama", "pieces")])
def test_a_directory_answers_as_in_memory(tmp_path, kind, tokens):
    net, tok = saved(tmp_path / "model", kind, tokens)
    texts = spoken(net, tok, documents=6, length=15)
    found = load_causal(tmp_path / "model").score(documents(texts), top_k=3)
    expected = causal_model(net, tok).score(documents(texts), top_k=3)
    assert (found.rank < 3).any()
    for one, other in zip(vars(found).values(), vars(expected).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_half_precision_weights_are_scored_in_float32_unless_asked(tmp_path):
    net, tok = saved(tmp_path / "model")
    net.to(torch.bfloat16).save_pretrained(tmp_path / "model")
    usual = load_causal(tmp_path / "model")
    assert usual.network.dtype == torch.float32
    assert load_causal(tmp_path / "model", dtype="bfloat16").network.dtype == torch.bfloat16
    texts = spoken(net.float(), tok, documents=6, length=15)
    expected = causal_model(net.float(), tok).score(documents(texts), top_k=1)
    assert usual.score(documents(texts), top_k=1).rank.tolist() == expected.rank.tolist()
    with pytest.raises(LeakscopeError, match="no dtype int8"):
        load_causal(tmp_path / "model", dtype="int8")


def test_an_adapter_answers_as_if_it_stood_beside_its_base(adapter, tmp_path):
    path, beside, tok = adapter
    texts = spoken(beside, tok, documents=12, length=20)
    packed = documents(texts)
    merged = load_causal(path)
    apart = causal_model(beside.get_base_model(), tok)  # the layers still hold A and B
    found = merged.score(packed, top_k=3, every_probability=True)
    expected = apart.score(packed, top_k=3, every_probability=True)
    same = (found.rank == expected.rank) | found.near_tie | expected.near_tie
    assert same.all() and (found.rank < 3).any()
    np.testing.assert_allclose(found.log_prob, expected.log_prob, rtol=1e-4, atol=1e-4)
    tok.save_pretrained(path)  # an adapter may bring its own
    again = load_causal(path).score(packed, top_k=3, every_probability=True)
    np.testing.assert_array_equal(again.log_prob, found.log_prob)
    bare = load_causal(tmp_path / "base").score(packed, top_k=3, every_probability=True)
    assert not np.allclose(bare.log_prob, found.log_prob, atol=0.1)


def test_an_adapter_takes_its_base_from_where_it_is_said_to_be(adapter, tmp_path):
    path, _, _ = adapter
    (tmp_path / "base").rename(tmp_path / "moved")
    with pytest.raises(LeakscopeError, match="not on this machine"):
        load_causal(path)
    load_causal(path, base=tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "base")
    load_causal(path, base=tmp_path / "moved")  # the same weights under two names
    with pytest.raises(LeakscopeError, match="not an adapter"):
        load_causal(tmp_path / "moved", base=tmp_path / "base")


def test_an_adapter_for_another_base_is_refused(adapter, tmp_path):
    path, _, _ = adapter
    saved(tmp_path / "other", seed=1)
    with pytest.raises(LeakscopeError, match="trained on another base model"):
        load_causal(path, base=tmp_path / "other")
    changed(path / "adapter_config.json", base_model_name_or_path="hub/name")
    load_causal(path, base=tmp_path / "other")  # nothing to tell them apart by
    saved(tmp_path / "wrong", kind="gpt2", tokens="bytes")
    with pytest.raises(LeakscopeError, match="does not fit its base"):
        load_causal(path, base=tmp_path / "wrong")
    wide = load_file(path / "adapter_model.safetensors")
    name = next(iter(wide))
    save_file(wide | {name: torch.zeros(7, 7)}, path / "adapter_model.safetensors")
    with pytest.raises(LeakscopeError, match="does not fit its base"):
        load_causal(path, base=tmp_path / "other")
    deep = {one.replace("layers.1", "layers.5"): two.clone() for one, two in wide.items()}
    save_file(wide | deep, path / "adapter_model.safetensors")  # a base with more layers
    with pytest.raises(LeakscopeError, match="does not fit its base"):
        load_causal(path, base=tmp_path / "other")
    save_file(
        {one: tensor for one, tensor in wide.items() if "layers.1" not in one},
        path / "adapter_model.safetensors",
    )
    with pytest.raises(LeakscopeError, match="does not fit its base"):
        load_causal(path, base=tmp_path / "other")


def test_damaged_adapters_are_refused(adapter):
    path, _, _ = adapter
    weights = path / "adapter_model.safetensors"
    wide = load_file(weights)
    save_file({name: tensor * torch.nan for name, tensor in wide.items()}, weights)
    with pytest.raises(LeakscopeError, match="not finite"):
        load_causal(path)
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        load_causal(path)
    weights.rename(path / "adapter_model.bin")  # a pickle, for all we know
    with pytest.raises(LeakscopeError, match=r"has no adapter_model\.safetensors"):
        load_causal(path)
    (path / "adapter_config.json").write_text("{")
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        load_causal(path)


def test_a_missing_package_is_named(adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(LeakscopeError, match=r"peft; pip install 'leakscope\[huggingface\]'"):
        load_causal(adapter[0])


def test_what_is_pretrained(tmp_path, adapter):
    assert is_pretrained(tmp_path / "base") and is_pretrained(adapter[0])
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    assert is_pretrained(tmp_path / "some.gguf")
    assert not is_pretrained(tmp_path / "none.gguf")
    assert not is_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"kind": "word"}')
    assert not is_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("no json")
    assert not is_pretrained(tmp_path)


def test_bad_directories_are_refused(tmp_path):
    path = tmp_path / "model"
    saved(path)

    def refused(match, damage):
        copy = tmp_path / "copy"
        shutil.copytree(path, copy)
        damage(copy)
        with pytest.raises(LeakscopeError, match=match) as caught:
            load_causal(copy)
        assert str(caught.value).count("\n") == 0
        shutil.rmtree(copy)

    def poisoned(copy):
        tensors = load_file(copy / "model.safetensors")
        tensors["lm_head.weight"][3, 3] = torch.inf
        save_file(tensors, copy / "model.safetensors", {"format": "pt"})

    def incomplete(copy):
        tensors = load_file(copy / "model.safetensors")
        del tensors["model.layers.1.mlp.up_proj.weight"]
        save_file(tensors, copy / "model.safetensors", {"format": "pt"})

    def cut(copy):
        weights = copy / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-50])

    def pickled(copy):
        torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
        (copy / "model.safetensors").unlink()

    refused("not finite: lm_head.weight", poisoned)
    refused("not those that its config names", incomplete)
    refused("missing or damaged", cut)
    refused("no weights in safetensors", pickled)
    refused("missing or damaged|not those", lambda c: changed(c / "config.json", vocab_size=77))
    refused("not a Hugging Face model", lambda c: (c / "config.json").write_text("{"))
    refused("missing or damaged", lambda c: changed(c / "config.json", model_type="nonesuch"))
    refused("no fast tokenizer", lambda c: (c / "tokenizer.json").unlink())
    refused("no fast tokenizer", lambda c: (c / "tokenizer.json").write_text("{}"))


def test_code_that_comes_with_a_model_is_not_run(tmp_path):
    saved(tmp_path / "model")
    ran = tmp_path / "ran"
    (tmp_path / "model" / "evil.py").write_text(
        f"import pathlib\npathlib.Path({str(ran)!r}).touch()\nclass C: pass\n"
    )
    changed(
        tmp_path / "model" / "config.json",
        model_type="evil",
        auto_map={"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.C"},
    )
    with pytest.raises(LeakscopeError, match="needs code of its own"):
        load_causal(tmp_path / "model")
    assert not ran.exists()


def test_networks_that_are_not_causal_are_refused(tmp_path):
    tok = tokenizer("wordpiece")
    bert = BertConfig(
        vocab_size=len(tok),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    BertForMaskedLM(bert).save_pretrained(tmp_path / "bert")
    t5 = T5Config(vocab_size=len(tok), d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5ForConditionalGeneration(t5).save_pretrained(tmp_path / "t5")
    for name, match in [("bert", "sees later words"), ("t5", "not a causal language model")]:
        tok.save_pretrained(tmp_path / name)
        with pytest.raises(LeakscopeError, match=match):
            load_causal(tmp_path / name)


def test_a_slow_tokenizer_is_refused():
    class Slow(PythonBackend):
        @property
        def vocab_size(self):
            return 400

        def get_vocab(self):
            return {}

    with pytest.raises(LeakscopeError, match="fast tokenizer"):
        causal_model(network("gpt2", 400), Slow())


def test_a_gguf_file_answers_as_its_network(tmp_path):
    net, tok = saved(tmp_path / "model", tokens="bytes")
    write_gguf(tmp_path / "model.gguf", net, tok)
    model = load_causal(tmp_path / "model.gguf")
    texts = spoken(net, tok, documents=6, length=15)
    found = model.score(documents(texts), top_k=3, every_probability=True)
    expected = causal_model(net, tok).score(documents(texts), top_k=3, every_probability=True)
    np.testing.assert_allclose(found.log_prob, expected.log_prob, rtol=1e-3, atol=1e-3)
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "model.gguf").read_bytes()[:200])
    with pytest.raises(LeakscopeError, match="missing or damaged"):
        load_causal(tmp_path / "cut.gguf")
