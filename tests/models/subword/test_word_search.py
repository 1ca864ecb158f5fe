"""The search for next words against trying every way to go on."""

import math

import numpy as np
import pytest
import torch

from leakscope.corpus.words import words
from leakscope.models.subword import word_search
from leakscope.models.subword.causal_model import causal_model
from leakscope.records.errors import LeakscopeError
from tiny_causal import fluent, network, tokenizer

PREFIXES = [["the", "cat"], ["don't", "call"], ["日"], ["she", "sells", "sea"]]


def every_word(model, prefix, depth):
    """(log p, word, text) of all whole words of at most `depth` tokens, the best way of each."""
    text = " ".join(prefix)
    start = model.tokenizer.ids(text)
    lead = len(model.tokenizer.lead)
    decode = model.tokenizer.tokenizer.decode
    found, level = {}, [([], 0.0)]
    for _ in range(depth):
        longer = []
        for tokens, log in level:
            after = model.after([*start, *tokens])
            for entry in after.order(60):
                if entry < after.words:
                    longer.append(
                        ([*tokens, int(model.entries.ids[entry])], log + after.log_probs[entry])
                    )
        longer.sort(key=lambda pair: -pair[1])
        level = []
        for tokens, log in longer[:150]:
            tail = decode([*start[lead:], *tokens])[len(decode(start[lead:])) :]
            if model.tokenizer.ids(text + tail) != [*start, *tokens]:
                continue
            level.append((tokens, log))
            if words(text + tail)[:-1] != prefix:
                continue
            after = model.after([*start, *tokens])
            best = after.order(1)[0]
            goes_on = decode([*start[lead:], *tokens, model.entries.ids[best]])
            whole = best >= after.words or words(goes_on)[: len(prefix) + 1] == words(text + tail)
            word = words(text + tail)[-1]
            if whole and log > found.get(word, (-math.inf,))[0]:
                found[word] = (log, tail)
    return sorted(((log, word, tail) for word, (log, tail) in found.items()), reverse=True)


@pytest.mark.parametrize(
    ("kind", "tokens"), [("gpt2", "bytes"), ("llama", "pieces"), ("llama", "unigram")]
)
def test_the_best_words_are_those_of_all_ways(kind, tokens):
    tok = tokenizer(tokens)
    model = causal_model(fluent(network(kind, len(tok), seed=3, scale=0.5), tok), tok)
    compared = 0
    for prefix, found in zip(PREFIXES, model.next_words(PREFIXES, 2), strict=True):
        if not found.exact:
            continue
        expected = every_word(model, prefix, depth=2)[:2]
        assert [(word, tail) for _, word, tail in expected] == list(
            zip(found.words, found.texts, strict=True)
        )
        np.testing.assert_allclose(found.log_probs, [log for log, _, _ in expected], atol=1e-3)
        compared += 1
    assert compared >= 2


def taught(text):
    """A model that has learned one text by heart."""
    tok = tokenizer("bytes")
    net = network("gpt2", len(tok), seed=1, scale=0.1).requires_grad_(True)
    ids = torch.tensor([[tok.bos_token_id, *tok(text)["input_ids"]]])
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(40):
        net.zero_grad()
        net(ids, labels=ids).loss.backward()
        optimizer.step()
    return causal_model(net.requires_grad_(False), tok)


@pytest.mark.parametrize(
    ("said", "word"), [(" don't sit", "don't"), (" Хорошо, да", "Хорошо"), (" 鰻 日", "鰻")]
)
def test_words_of_many_tokens_come_whole(said, word):
    model = taught("the cat" + said)
    before = model.tokenizer.ids("the cat")
    assert len(model.tokenizer.ids("the cat " + word)) > 1 + len(before)
    found = model.next_words([["the", "cat"]], 1)[0]
    assert found.words == [word] and found.texts == [f" {word}"] and found.exact
    assert found.log_probs[0] > -0.5


def test_a_search_that_ends_early_says_so(monkeypatch):
    tok = tokenizer("bytes")
    model = causal_model(network("gpt2", len(tok), seed=3, scale=0.01), tok)  # hardly a choice
    monkeypatch.setattr(word_search, "LOOKS", 2 - 8 * 3)  # two looks
    found = model.next_words([["the", "cat"]], 3)[0]
    assert not found.exact and (np.diff(found.log_probs) <= 0).all()
    with pytest.raises(LeakscopeError, match="no begin mark"):
        causal_model(network("gpt2", 200), tokenizer("wordpiece")).next_words([[]], 1)
    assert model.next_words([], 3) == []
