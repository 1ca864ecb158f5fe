"""A causal network's scores in words against one plain call of the network for each prefix."""

import math
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertLMHeadModel, Gemma2Config, Gemma2ForCausalLM

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.words import spans, words
from leakscope.models.ranking.windows import first_input
from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.float64_copy import Float64Mode
from leakscope.models.subword.output_heads import LinearHead, PlainHead
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from tiny_causal import documents, fluent, network, spoken, tokenizer

PAIRS = [("gpt2", "bytes"), ("llama", "pieces"), ("llama", "unigram"), ("gpt2", "wordpiece")]


@cache
def made(kind, tokens, context=64):
    tok = tokenizer(tokens)
    net = fluent(network(kind, len(tok), context=context), tok)
    return net, tok, causal_model(net, tok)


@cache
def said(kind, tokens):
    net, tok, _ = made(kind, tokens)
    texts = spoken(net, tok, documents=30, length=25)
    return [*texts, "", "  ", "the café, 漢字 👍\n", "don't  call <s>me</s> of the day  "]


@torch.inference_mode()
def plain_tokens(net, tok, text, k, context=64):
    """For each token (its id, offset, rank, log p, top log p), by a call for each prefix."""
    found = tok(text, add_special_tokens=False, return_offsets_mapping=True)
    start = tok.bos_token_id if tok.bos_token_id is not None else tok.eos_token_id
    lead = [] if start is None else [start]
    answers = []
    for i, (id, offset) in enumerate(zip(found["input_ids"], found["offset_mapping"], strict=True)):
        seen = [*lead, *found["input_ids"][:i]]
        if not seen:
            answers.append((id, offset, k, 0.0, 0.0))
            continue
        seen = seen[first_input(len(seen) - 1, context) :]
        logits = net(torch.tensor([seen])).logits[0, -1]
        order = torch.argsort(-logits, stable=True).tolist()
        logs = torch.log_softmax(logits.double(), 0)
        rank = min(k, order.index(id))
        answers.append((id, offset, rank, float(logs[id]), float(logs[order[0]])))
    return answers


def plain_words(net, tok, text, k, context=64):
    """(rank, log p, top log p) of each word: letter by letter, then what lies between words."""
    answers = plain_tokens(net, tok, text, k, context)
    word_of = {c: w for w, (a, b) in enumerate(spans(text)) for c in range(a, b)}
    ranks = [[] for _ in spans(text)]
    logs = [[0.0, 0.0] for _ in spans(text)]
    never = set()
    for id, (a, b), rank, log, top in answers:
        mine = sorted({word_of[c] for c in range(a, b) if c in word_of})
        marks = {tok.bos_token_id, tok.eos_token_id, tok.pad_token_id}
        if id in marks:
            never |= set(mine)
            continue
        if not mine:
            mine = [w for w, (x, _) in enumerate(spans(text)) if x >= a][:1]
        if id == tok.unk_token_id:
            never |= set(mine)
        for w in mine:
            ranks[w].append(rank)
        if mine:
            logs[mine[0]][0] += log
            logs[mine[0]][1] += top
    return [(k if w in never or not mine else max(mine), *logs[w]) for w, mine in enumerate(ranks)]


@pytest.mark.parametrize(("kind", "tokens"), PAIRS)
@pytest.mark.parametrize("k", [1, 3])
def test_scores_equal_one_call_a_prefix(kind, tokens, k):
    net, tok, model = made(kind, tokens)
    texts = said(kind, tokens)
    packed = documents(texts)
    expected = [answer for text in texts for answer in plain_words(net, tok, text, k)]
    scores = model.score(packed, top_k=k)
    every = model.score(packed, top_k=k, every_probability=True)
    assert len(expected) == len(scores.rank)
    assert scores.rank.tolist() == every.rank.tolist() == [rank for rank, _, _ in expected]
    assert 0 < (scores.rank < k).sum() < len(expected)
    logs = np.array([[log, top] for _, log, top in expected])
    np.testing.assert_allclose(every.log_prob, logs[:, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(every.top_log_prob, logs[:, 1], rtol=1e-4, atol=1e-4)
    hit = scores.rank < k
    np.testing.assert_allclose(scores.log_prob[hit], logs[hit, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scores.top_log_prob[hit], logs[hit, 1], rtol=1e-4, atol=1e-4)
    assert np.isnan(scores.log_prob[~hit]).all() and np.isnan(scores.top_log_prob[~hit]).all()
    wanted = np.random.default_rng(0).random(len(hit)) < 0.3
    np.testing.assert_allclose(
        model.log_probs(packed, wanted), logs[wanted, 0], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(("kind", "tokens"), PAIRS[:2])
@pytest.mark.parametrize("noise", [None, 0.02])
def test_batches_and_padding_change_nothing(kind, tokens, noise):
    """With much noise claimed, many decisions are settled in float64: still nothing changes."""
    _, tok, model = made(kind, tokens)
    model = model if noise is None else replace(model, noise=noise)
    packed = documents(said(kind, tokens))
    longest = max(len(ids) for ids in tok(said(kind, tokens))["input_ids"])
    plain = model.score(packed, top_k=3, every_probability=True)
    assert plain.near_tie.any() or noise is None
    for batch in (1, 2, 8, 32):
        for padding in ("left", "right"):
            other = replace(model, batch_tokens=batch * longest, padding=padding)
            for every in (False, True):
                found = other.score(packed, top_k=3, every_probability=every)
                assert (found.rank == plain.rank).all()
            np.testing.assert_allclose(found.log_prob, plain.log_prob, rtol=1e-4, atol=1e-4)


@contextmanager
def little_memory(body, most):
    """The network runs out of memory on more than so many tokens at a time; yields the sizes of
    all attempts.
    """
    tried = []

    def refuse(module, given, options):
        tried.append(options["input_ids"].numel())
        if tried[-1] > most:
            raise torch.OutOfMemoryError("out of memory")

    hook = body.register_forward_pre_hook(refuse, with_kwargs=True)
    try:
        yield tried
    finally:
        hook.remove()


@pytest.mark.parametrize("noise", [None, 0.02])
@pytest.mark.parametrize("given", [None, 700])
def test_where_memory_runs_out_batches_are_halved_and_nothing_changes(noise, given):
    _, _, model = made("llama", "pieces")
    model = replace(model, batch_tokens=given)
    model = model if noise is None else replace(model, noise=noise)
    packed = documents(said("llama", "pieces"))
    wanted = np.random.default_rng(0).random(packed.offsets[-1]) < 0.3
    for every in (False, True):
        plain = model.score(packed, top_k=3, every_probability=every)
        poor = replace(model)  # what it learns of the memory is its own
        with little_memory(poor.network.model, 80) as tried:
            found = poor.score(packed, top_k=3, every_probability=every)
            some = poor.log_probs(packed, wanted)
        assert max(tried) > 80
        assert sum(size > 80 for size in tried) < 8  # it is not tried again and again
        np.testing.assert_array_equal(found.rank, plain.rank)
        for name in ("log_prob", "top_log_prob"):
            one, other = getattr(found, name), getattr(plain, name)
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(some, model.log_probs(packed, wanted), rtol=1e-4, atol=1e-4)


def test_no_room_even_for_one_text_is_said():
    _, _, model = made("llama", "pieces")
    with (
        little_memory(model.network.model, 2),
        pytest.raises(LeakscopeError, match=r"no room even for one text of \d+ tokens"),
    ):
        replace(model).score(documents(said("llama", "pieces")), top_k=1)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_long_documents_are_read_in_windows(kind):
    net, tok, model = made(kind, "bytes", context=9)
    assert model.context == 9
    texts = spoken(made(kind, "bytes")[0], tok, documents=6, length=60, seed=3)
    packed = documents(texts)
    for padding in ("left", "right"):
        for batch in (1, 60):
            found = replace(model, padding=padding, batch_tokens=batch).score(
                packed, top_k=3, every_probability=True
            )
            expected = [a for text in texts for a in plain_words(net, tok, text, 3, context=9)]
            assert found.rank.tolist() == [rank for rank, _, _ in expected]
            logs = [log for _, log, _ in expected]
            np.testing.assert_allclose(found.log_prob, logs, rtol=1e-4, atol=1e-4)


def test_equal_logits_go_by_lower_id_and_are_flagged():
    tok = tokenizer("bytes")
    twins = fluent(network("gpt2", len(tok)), tok)
    with torch.no_grad():  # every entry has a double
        twins.lm_head.weight[1::2] = twins.lm_head.weight[::2][: len(tok) // 2]
    model = causal_model(twins, tok)
    texts = spoken(twins, tok, documents=20, length=20)
    found = model.score(documents(texts), top_k=1)
    expected = [rank for text in texts for rank, _, _ in plain_words(twins, tok, text, 1)]
    assert found.rank.tolist() == expected
    assert found.near_tie.any() and (found.near_tie & (found.rank == 1)).any()
    hits = (found.rank == 0) & ~found.near_tie
    assert not hits.any()  # whatever is correct has a double


def test_large_networks_decide_by_their_own_precision():
    net, tok, model = made("gpt2", "bytes")
    packed = documents(said("gpt2", "bytes"))
    large = causal_model(net, tok, settle_parameters=10)
    assert not large._settles
    large = replace(large, noise=0.02)
    found = large.score(packed, top_k=1)
    assert "precise" not in vars(large)
    assert found.near_tie.any()
    assert found.rank.tolist() == model.score(packed, top_k=1).rank.tolist()


def test_the_float64_copy_is_exact_all_through():
    """Llama's norms and rotations are written in float32; alone and in a batch must agree to
    float64 noise nevertheless."""
    _, _, model = made("llama", "pieces")
    precise = model.precise
    inputs = torch.arange(36).reshape(3, 12)
    positions = torch.arange(12).expand(3, 12)
    with Float64Mode():
        batch = precise.head.states(inputs, torch.ones_like(inputs), positions)
        alone = precise.head.states(inputs[:1, :7], torch.ones(1, 7), positions[:1, :7])
    assert batch.dtype == torch.float64
    torch.testing.assert_close(batch[:1, :7], alone, rtol=1e-13, atol=1e-13)
    usual = model.head.states(inputs, torch.ones_like(inputs), positions)
    assert float((usual - batch).abs().max()) > 1e-9  # float32 is not


def test_soft_capped_logits_are_taken_as_they_come():
    tok = tokenizer("pieces")
    config = Gemma2Config(
        vocab_size=len(tok),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=64,
        final_logit_softcapping=3.0,
        bos_token_id=1,
    )
    torch.manual_seed(0)
    net = Gemma2ForCausalLM(config).eval().requires_grad_(False)
    with torch.no_grad():
        net.model.embed_tokens.weight.normal_(0.0, 0.5)
    model = causal_model(net, tok)
    assert isinstance(model.head, PlainHead)
    assert isinstance(made("llama", "pieces")[2].head, LinearHead)
    texts = spoken(net, tok, documents=8, length=20)
    found = model.score(documents(texts), top_k=3, every_probability=True)
    expected = [answer for text in texts for answer in plain_words(net, tok, text, 3)]
    assert found.rank.tolist() == [rank for rank, _, _ in expected]
    np.testing.assert_allclose(found.log_prob, [a[1] for a in expected], rtol=1e-4, atol=1e-4)


def test_half_precision_is_scored_in_words_too():
    tok = tokenizer("bytes")
    net = fluent(network("gpt2", len(tok)), tok).to(torch.bfloat16)
    model = causal_model(net, tok)
    assert model.noise > made("gpt2", "bytes")[2].noise
    packed = documents(said("gpt2", "bytes"))
    exact = causal_model(fluent(network("gpt2", len(tok)), tok).to(torch.bfloat16).double(), tok)
    found, truth = model.score(packed, top_k=1), exact.score(packed, top_k=1)
    assert (found.rank == truth.rank).all()


def test_next_is_a_distribution_over_tokens():
    net, tok, model = made("llama", "pieces")
    after = model.next(["the", "cat"])
    ids = [1, *tok("the cat", add_special_tokens=False)["input_ids"]]
    logs = torch.log_softmax(net(torch.tensor([ids])).logits[0, -1], 0).numpy()
    assert len(after.entries) == len(tok) and after.words == len(tok) - 3
    assert set(after.entries[after.words :]) == {"<unk>", "<s>", "</s>"}
    assert math.isclose(np.exp(after.log_probs).sum(), 1.0, rel_tol=1e-5)
    np.testing.assert_allclose(np.sort(after.log_probs), np.sort(logs), rtol=1e-4, atol=1e-5)
    best = int(np.argmax(logs))
    said_best = tok.decode([best]) or "x"
    assert after.entries[after.order(1)[0]].strip() == said_best.strip()
    long = made("llama", "pieces", context=9)[2].next(["the"] * 50)
    assert np.isfinite(long.log_probs).all()


def test_without_marks_the_first_token_cannot_be_asked():
    model = made("gpt2", "wordpiece")[2]
    assert not model.predicts_first and made("gpt2", "bytes")[2].predicts_first
    found = model.score(documents(["the cat"]), top_k=500, every_probability=True)
    assert found.rank[0] == 500 and found.log_prob[0] == 0.0 and found.rank[1] < 500
    with pytest.raises(LeakscopeError, match="give it at least one word"):
        model.next([])


def test_documents_without_texts_are_spelled_by_the_lexicon():
    _, _, model = made("gpt2", "bytes")
    lexicon = Lexicon(["cat", "the", "don't"], np.ones(3, np.int64), np.ones(3, np.int64))
    ids = [(0, [1, 0, 2]), (0, []), (0, [2])]
    found = model.reading(lexicon).score(Documents.of(ids), top_k=3, every_probability=True)
    same = model.score(documents(["the cat don't", "", "don't"]), top_k=3, every_probability=True)
    np.testing.assert_array_equal(found.log_prob, same.log_prob)
    assert words("the cat don't") == ["the", "cat", "don't"]


def test_networks_that_see_ahead_or_have_too_few_entries_are_refused():
    tok = tokenizer("wordpiece")
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(tok), intermediate_size=8, **shape)
    with pytest.raises(LeakscopeError, match="sees later words"):
        causal_model(BertLMHeadModel(config).eval(), tok)
    tok = tokenizer("bytes")
    tok.add_special_tokens({"pad_token": "<pad>"})
    small = causal_model(network("gpt2", len(tok) - 1), tok)
    with pytest.raises(LeakscopeError, match="tokens that the model does not know"):
        small.score(documents(["the cat sat on <pad> the mat"]), top_k=1)
    broken = network("gpt2", 400)
    broken.transformer.wte.weight[3] = torch.nan
    with pytest.raises(LeakscopeError, match="not finite"):
        causal_model(broken, tokenizer("bytes"))
