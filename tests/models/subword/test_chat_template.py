"""Documents as messages of a chat, against one plain call of the network for each prefix."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.words import spans
from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.chat_template import chat_of
from leakscope.records.errors import LeakscopeError
from tiny_causal import documents, fluent, network, spoken, tokenizer

TEMPLATES = {
    "marked": "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}"
    "{% endfor %}",
    "trimmed": "{{ bos_token }}{% for m in messages %}{{ m.role }}\n{{ m.content | trim }}\n"
    "{% endfor %}the end",
    "bare": "{% for m in messages %}{{ m.content }} {% endfor %}",
}
PAIRS = [("gpt2", "bytes"), ("llama", "pieces"), ("llama", "unigram")]
TRAPS = ["user", "[assistant] the user", "  the cat sat \n", "", " ", "call </s> me", "end"]


def made(kind, tokens, template):
    tok = tokenizer(tokens)
    net = fluent(network(kind, len(tok), context=512), tok)
    tok.chat_template = TEMPLATES[template]
    return net, tok, causal_model(net, tok)


def written(tok, template, role, text):
    """(the chat, where the text's first character would be, the message), by hand."""
    bos, eos = tok.bos_token, tok.eos_token
    if template == "marked":
        head = bos + (f"[user] {eos}" if role == "assistant" else "") + f"[{role}] "
        return head + text + eos, len(head), range(len(head), len(head) + len(text))
    if template == "trimmed":
        head = bos + ("user\n\n" if role == "assistant" else "") + f"{role}\n"
        lost, kept = len(text) - len(text.lstrip()), text.strip()
        mine = range(len(head), len(head) + len(kept))
        return head + kept + "\nthe end", len(head) - lost, mine
    head = " " if role == "assistant" else ""
    return head + text + " ", len(head), range(len(head), len(head) + len(text))


@torch.inference_mode()
def plain_words(net, tok, text, chat, at, mine, k):
    """(rank, log p) of each word: letter by letter, the chat's other tokens left out."""
    found = tok(chat, add_special_tokens=False, return_offsets_mapping=True)
    ids, edges = found["input_ids"], spans(text)
    word_of = {at + c: w for w, (a, b) in enumerate(edges) for c in range(a, b)}
    ranks, logs, never = [[] for _ in edges], [0.0] * len(edges), set()
    for place, (id, (a, b)) in enumerate(zip(ids, found["offset_mapping"], strict=True)):
        covered = sorted({word_of[c] for c in range(a, b) if c in word_of})
        if id in (tok.bos_token_id, tok.eos_token_id):
            never |= set(covered)
            continue
        if not covered and any(c in mine for c in range(a, b)):  # white space before a word
            covered = [w for w, (x, _) in enumerate(edges) if at + x >= a][:1]
        if not covered:
            continue
        if place == 0 or id == tok.unk_token_id:
            never |= set(covered)
        if place == 0:
            continue
        logits = net(torch.tensor([ids[:place]])).logits[0, -1]
        order = torch.argsort(-logits, stable=True).tolist()
        for word in covered:
            ranks[word].append(min(k, order.index(id)))
        logs[covered[0]] += float(torch.log_softmax(logits.double(), 0)[id])
    return [
        (k if word in never or not each else max(each), logs[word])
        for word, each in enumerate(ranks)
    ]


@pytest.mark.parametrize(("kind", "tokens"), PAIRS)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_scores_equal_one_call_a_prefix(kind, tokens, template, role):
    net, tok, model = made(kind, tokens, template)
    texts = [*spoken(net, tok, documents=6, length=12), *TRAPS]
    k = 3
    found = model.chatting(role).score(documents(texts), top_k=k, every_probability=True)
    quick = model.chatting(role).score(documents(texts), top_k=k)
    expected = []
    for text in texts:
        chat, at, mine = written(tok, template, role, text)
        message = {"role": role, "content": text}
        empty = [{"role": "user", "content": ""}] if role == "assistant" else []
        assert chat == tok.apply_chat_template([*empty, message], tokenize=False)
        expected += plain_words(net, tok, text, chat, at, mine, k)
    assert found.rank.tolist() == quick.rank.tolist() == [rank for rank, _ in expected]
    assert 0 < (found.rank < k).sum() < len(found.rank)
    np.testing.assert_allclose(found.log_prob, [log for _, log in expected], rtol=1e-4, atol=1e-4)
    alone = model.score(documents(texts), top_k=k, every_probability=True)
    assert not np.allclose(alone.log_prob, found.log_prob, atol=0.1)


@given(st.text(max_size=12), st.sampled_from(["marked", "trimmed", "bare"]))
def test_every_word_of_a_document_is_where_it_is_said_to_be(text, template):
    tok = tokenizer("pieces")
    tok.chat_template = TEMPLATES[template]
    placed = chat_of(tok, "assistant").place(text)
    for begin, end in spans(text):
        assert placed.text[placed.start + begin : placed.start + end] == text[begin:end]
        assert placed.inside[0] <= placed.start + begin < placed.start + end <= placed.inside[1]
    inner = placed.text[slice(*placed.inside)]
    assert inner.strip() == text.strip() and not placed.altered


def test_a_document_that_the_template_would_change_is_put_in_unchanged():
    tok = tokenizer("pieces")
    tok.chat_template = (
        "{% for m in messages %}: {{ m.content.split('</think>')[-1] }};{% endfor %}"
    )
    chat = chat_of(tok, "assistant")
    assert chat.place("plain") == (": ;: plain;", 5, (5, 10), False)
    assert chat.place("a</think>b") == (": ;: a</think>b;", 5, (5, 15), True)


def test_templates_that_cannot_be_used_are_refused():
    tok = tokenizer("pieces")
    with pytest.raises(LeakscopeError, match="has no chat template"):
        chat_of(tok, "assistant")
    tok.chat_template = TEMPLATES["bare"]
    with pytest.raises(LeakscopeError, match="assistant or user"):
        chat_of(tok, "system")
    for bad in ("{{ raise_exception(messages[0].content) }}", "{{ nothing.at.all }}", "{{ 'x' }}",
                "{{ messages[-1].content * 2 }}", "{% if %}"):  # fmt: skip
        tok.chat_template = bad
        with pytest.raises(LeakscopeError, match="try the other role"):
            chat_of(tok, "user")


def test_the_next_token_comes_behind_what_the_template_writes():
    net, tok, model = made("llama", "pieces", "marked")
    after = model.chatting("assistant").next(["the", "cat"])
    ids = tok("<s>[user] </s>[assistant] the cat", add_special_tokens=False)["input_ids"]
    logs = torch.log_softmax(net(torch.tensor([ids])).logits[0, -1], 0).numpy()
    np.testing.assert_allclose(np.sort(after.log_probs), np.sort(logs), rtol=1e-4, atol=1e-5)
    assert model.chatting("user").predicts_first
    assert not made("llama", "pieces", "bare")[2].chatting("user").predicts_first
