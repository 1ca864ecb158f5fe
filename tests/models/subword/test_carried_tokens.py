"""Tokens that are carried on in a cache, against one call for each prefix."""

import numpy as np
import pytest
import torch
from transformers import LlamaModel, MistralConfig, MistralForCausalLM

from leakscope.models.subword.carried_tokens import CachedTokens, RereadTokens
from leakscope.models.subword.causal_model import causal_model
from tiny_causal import network, tokenizer


class Forgetful(LlamaModel):
    """A body that keeps no cache, though it is asked to."""

    def forward(self, input_ids, attention_mask=None, position_ids=None, **_):
        return super().forward(input_ids, attention_mask, position_ids, use_cache=False)


def sliding(entries):
    """A network of which each layer sees the last four tokens only."""
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 4}
    torch.manual_seed(0)
    made = MistralForCausalLM(MistralConfig(vocab_size=entries, **shape, **heads))
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "norm" not in name:
                weight.normal_(0.0, 0.4)
    return made.eval().requires_grad_(False)


def forgetful(entries):
    made = network("llama", entries)
    made.model.__class__ = Forgetful
    return made


@pytest.mark.parametrize(
    ("make", "carrier"),
    [
        (lambda entries: network("llama", entries, context=9), CachedTokens),
        (lambda entries: network("gpt2", entries, context=9), CachedTokens),
        (sliding, CachedTokens),
        (forgetful, RereadTokens),
    ],
    ids=["llama", "gpt2", "sliding", "forgetful"],
)
@pytest.mark.parametrize("batch", [None, 5])
def test_going_on_equals_one_call_a_prefix(make, carrier, batch):
    tok = tokenizer("bytes")
    model = causal_model(make(len(tok)), tok, batch_tokens=batch)
    rng = np.random.default_rng(0)
    ids = [rng.integers(1, 400, size).tolist() for size in (1, 4, 4, 8, 9, 17)]
    after = model.begin_tokens(ids)
    assert type(after.carrier) is carrier
    for _ in range(9):
        expected = np.stack([model.after(each).log_probs for each in ids])
        np.testing.assert_allclose(after.log_probs(), expected, atol=2e-4)
        rows, entries = rng.integers(0, 6, 6), rng.integers(0, model.entries.words, 6)
        pairs = zip(rows.tolist(), model.entries.ids[entries].tolist(), strict=True)
        ids = [[*ids[row], token] for row, token in pairs]
        after = after.extended(rows, entries)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_precisions_go_on_too(dtype):
    tok = tokenizer("bytes")
    model = causal_model(network("llama", len(tok)).to(dtype), tok)
    after = model.begin([["the", "cat"]])
    longer = after.extended(np.array([0]), np.array([7]))
    ids = [*model.tokenizer.ids("the cat"), int(model.entries.ids[7])]
    expected = model.after(ids).log_probs
    apart = np.abs(longer.log_probs()[0] - expected).max()
    assert apart < (0.5 if dtype == torch.bfloat16 else 1e-5)
