"""Probing Hugging Face models against plain calls of the network, token after token."""

import io
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.probing.any_model import open_prober
from leakscope.auditing.probing.token_prober import TokenProber
from leakscope.cli.app import main
from leakscope.commands.probe import probe
from leakscope.models.subword.causal_model import causal_model
from leakscope.records.errors import LeakscopeError
from tiny_causal import fluent, network, tokenizer

PAIRS = [("gpt2", "bytes"), ("llama", "pieces"), ("llama", "unigram"), ("gpt2", "wordpiece")]
TEXTS = ["the cat", " the  cat\n", "Don't call me before", "漢字", "naïve ", "the dog 👍"]


def made(kind, tokens, seed=0):
    tok = tokenizer(tokens)
    return fluent(network(kind, len(tok), seed), tok), tok


def saved(path, kind, tokens):
    net, tok = made(kind, tokens)
    net.save_pretrained(path)
    tok.save_pretrained(path)
    return net, tok


@torch.inference_mode()
def plain(net, tok, text, top_k, length):
    """(the top k as (id, p), the greedy ids, their probability)."""
    start = tok.bos_token_id if tok.bos_token_id is not None else tok.eos_token_id
    lead = [] if start is None else [start]
    ids = [*lead, *tok(text, add_special_tokens=False)["input_ids"]]
    first, found, likely = None, [], 1.0
    while first is None or len(found) < length:
        odds = torch.softmax(net(torch.tensor([[*ids, *found]])).logits[0, -1].double(), 0)
        order = odds.argsort(descending=True, stable=True).tolist()
        first = first or [(id, float(odds[id])) for id in order[:top_k]]
        if not length or order[0] in {*tok.all_special_ids}:
            break
        found.append(order[0])
        likely *= float(odds[order[0]])
    return first, found, likely


@pytest.mark.parametrize(("kind", "tokens"), PAIRS)
@pytest.mark.parametrize("text", TEXTS)
def test_suggestions_and_continuation_are_those_of_plain_calls(kind, tokens, text):
    net, tok = made(kind, tokens)
    found = TokenProber(causal_model(net, tok))(text, top_k=7, length=12)
    first, greedy, likely = plain(net, tok, text, 7, 12)
    assert found.unit == "token" and found.prompt == text
    assert [s.probability for s in found.suggestions] == pytest.approx(
        [p for _, p in first], rel=1e-4
    )
    marks = set(tok.all_special_ids)
    assert [s.is_word for s in found.suggestions] == [id not in marks for id, _ in first]
    for suggestion, (id, _) in zip(found.suggestions, first, strict=True):
        said = tok.decode([id])
        assert "\ufffd" in said or suggestion.entry.strip() == said.strip()
        assert "\ufffd" not in suggestion.entry
    assert len(found.continuation) == len(greedy)
    assert found.probability == pytest.approx(likely, rel=1e-3)
    assert len(found.prefix) == len(tok(text, add_special_tokens=False)["input_ids"])
    whole = tok.decode([*tok(text, add_special_tokens=False)["input_ids"], *greedy])
    assert whole.endswith(found.text)
    if tokens != "wordpiece" and "\ufffd" not in found.text:
        assert found.text.strip() == "".join(found.continuation).strip() or "\\x" in "".join(
            found.continuation
        )


def test_a_mark_ends_the_continuation():
    net, tok = made("llama", "pieces")
    _, greedy, _ = plain(net, tok, "the cat", 1, 9)
    seen = [1, *tok("the cat", add_special_tokens=False)["input_ids"], *greedy[:4]]
    with torch.inference_mode():  # the end mark is all that this state asks for
        state = net.model(torch.tensor([seen])).last_hidden_state[0, -1]
        net.lm_head.weight[2] = 9 * state
    _, expected, _ = plain(net, tok, "the cat", 1, 9)
    found = TokenProber(causal_model(net, tok))("the cat", length=9)
    assert len(found.continuation) == len(expected) <= 4
    ids = tok("the cat", add_special_tokens=False)["input_ids"]
    assert tok.decode([*ids, *expected]) == "the cat" + found.text


def test_tokens_that_are_parts_of_characters_are_spelled_as_bytes():
    net, tok = made("gpt2", "bytes")
    spelled = causal_model(net, tok).entries.spelled
    assert not any("\ufffd" in entry for entry in spelled)
    assert len(set(spelled)) == len(spelled)  # so that no two suggestions look alike
    assert "\\xe6" in spelled and "a" in spelled


def test_nothing_to_begin_with_is_said():
    net, tok = made("gpt2", "wordpiece")
    with pytest.raises(LeakscopeError, match="at least one word"):
        TokenProber(causal_model(net, tok))("")
    net, tok = made("llama", "pieces")
    found = TokenProber(causal_model(net, tok))("", length=0)
    assert found.prefix == [] and found.continuation == [] and found.probability == 1.0


def test_directories_adapters_and_block_lists(tmp_path):
    net, tok = saved(tmp_path / "base", "llama", "pieces")
    expected = TokenProber(causal_model(net, tok))("the cat")
    assert probe(tmp_path / "base", "the cat") == expected
    beside = get_peft_model(
        net, LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    )
    beside.peft_config["default"].base_model_name_or_path = str(tmp_path / "base")
    beside.save_pretrained(tmp_path / "adapter")
    named = tmp_path / "adapter" / "adapter_config.json"
    named.write_text(named.read_text().replace(str(tmp_path / "base"), "hub/elsewhere"))
    how = LoadingSettings(base=tmp_path / "base")
    adapted = probe(tmp_path / "adapter", "the cat", how)
    first, _, _ = plain(beside.eval(), tok, "the cat", 5, 0)
    odds = [suggestion.probability for suggestion in adapted.suggestions]
    assert odds == pytest.approx([p for _, p in first], rel=1e-3)
    assert not math.isclose(odds[0], expected.suggestions[0].probability, rel_tol=1e-3)
    with pytest.raises(LeakscopeError, match="not an adapter"):
        open_prober(tmp_path / "base", loading=how)
    with pytest.raises(LeakscopeError, match="leave out --block-list"):
        open_prober(tmp_path / "base", Path("list"))


def test_the_command_prints_reads_lines_and_gives_json(tmp_path, monkeypatch, capsys):
    net, tok = saved(tmp_path / "m", "gpt2", "bytes")
    expected = TokenProber(causal_model(net, tok))("the cat", top_k=3, length=5)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["leakscope", "probe", str(tmp_path / "m"), *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code
        return capsys.readouterr().out

    options = ("--top-k", "3", "--length", "5")
    found = json.loads(run("the cat", *options, "--json"))
    assert found["continuation"] == expected.continuation and found["text"] == expected.text
    assert found["unit"] == "token" and len(found["suggestions"]) == 3
    printed = run("the cat", *options).splitlines()
    for line, suggestion in zip(printed, expected.suggestions, strict=False):
        entry = json.dumps(suggestion.entry, ensure_ascii=False)
        assert entry in line and f"{suggestion.probability:.4f}" in line
    assert printed[3].startswith("the cat → ")
    monkeypatch.setattr(sys, "stdin", io.StringIO("the cat\nthe\n"))
    lines = [json.loads(line) for line in run(*options, "--json").splitlines()]
    assert [line["prompt"] for line in lines] == ["the cat", "the"]
    assert lines[0] == found
