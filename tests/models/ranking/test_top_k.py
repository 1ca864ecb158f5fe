"""Early exit against the full softmax and against the rule written out in float64."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.models.ranking import top_k as output
from leakscope.models.ranking.top_k import rank_early, rank_exact, rank_full


def plain_rank(logits, label):
    """The design's rule: greater, or equal with a lower id."""
    mine = logits[label]
    return sum(
        other > mine or (other == mine and entry < label) for entry, other in enumerate(logits)
    )


@st.composite
def layers(draw):
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    m, h, v = draw(st.integers(1, 20)), draw(st.integers(1, 9)), draw(st.integers(2, 40))
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 30.0, 3000.0]))
    hidden = rng.normal(size=(m, h))
    weight = rng.normal(size=(v, h)) * scale
    bias = rng.normal(size=v) * scale
    for _ in range(draw(st.integers(0, 5))):  # duplicated columns: exact ties
        source, target = rng.integers(0, v, 2)
        weight[target], bias[target] = weight[source], bias[source]
    labels = rng.integers(0, v, m)
    tensors = [torch.tensor(array, dtype=torch.float32) for array in (hidden, weight, bias)]
    return *tensors, torch.tensor(labels)


@settings(max_examples=200)
@given(layers(), st.integers(1, 6), st.sampled_from([1, 3, 512]), st.sampled_from([1, 4, 7, 1024]))
def test_early_exit_equals_full_softmax(layer, k, block, tile):
    hidden, weight, bias, labels = layer
    before = output.FIRST_BLOCK, output.BLOCK, output.TILE_CPU
    output.FIRST_BLOCK, output.BLOCK, output.TILE_CPU = block, 2 * block, tile
    try:
        early = rank_early(hidden, weight, bias, labels, k)
    finally:
        output.FIRST_BLOCK, output.BLOCK, output.TILE_CPU = before
    full = rank_full(hidden, weight, bias, labels, k)
    logits = torch.addmm(bias, hidden, weight.T).double()
    log_probs = torch.log_softmax(logits, 1)
    noise = 1e-4 + 1e-6 * float(logits.abs().max())  # of a float32 logit, and so of its log p
    for row, label in enumerate(labels.tolist()):
        if early.near_tie[row] or full.near_tie[row]:
            continue  # settled in float64, see test_wordlevel
        assert early.rank[row] == full.rank[row]
        assert int(full.rank[row]) == min(k, plain_rank(log_probs[row].tolist(), label))
        assert np.isclose(full.log_prob[row], log_probs[row, label], rtol=1e-4, atol=noise)
        if early.rank[row] < k:
            assert np.isclose(early.log_prob[row], full.log_prob[row], rtol=1e-4, atol=noise)
            assert np.isclose(
                early.top_log_prob[row], full.top_log_prob[row], rtol=1e-4, atol=noise
            )
        else:
            assert torch.isnan(early.log_prob[row])


@settings(max_examples=100)
@given(layers(), st.integers(1, 6))
def test_every_float32_disagreement_with_the_exact_rule_is_flagged(layer, k):
    hidden, weight, bias, labels = layer
    early = rank_early(hidden, weight, bias, labels, k)
    exact = rank_exact(hidden.double(), weight.double(), bias.double(), labels, k)
    differ = early.rank != exact.rank
    assert not (differ & ~early.near_tie & ((early.rank < k) | (exact.rank < k))).any()


@settings(max_examples=100)
@given(layers(), st.integers(1, 6))
def test_exact_ranks_follow_the_rule_and_ties_go_to_the_lower_id(layer, k):
    hidden, weight, bias, labels = (tensor.double() for tensor in layer)
    exact = rank_exact(hidden, weight, bias, labels.long(), k)
    for row, label in enumerate(labels.long().tolist()):
        products = [
            float((hidden[row] * column).sum() + b) for column, b in zip(weight, bias, strict=True)
        ]
        same = [
            bool((weight[e] == weight[label]).all() and bias[e] == bias[label])
            for e in range(len(bias))
        ]
        logits = [
            products[label] if tie else value for value, tie in zip(products, same, strict=True)
        ]
        near = [
            abs(v - logits[label]) < 1e-9 * (1 + abs(v)) and not tie
            for v, tie in zip(logits, same, strict=True)
        ]
        if not any(near):
            assert int(exact.rank[row]) == min(k, plain_rank(logits, label))


def test_a_label_never_beats_itself():
    """With one column repeated everywhere, rank is the id, whatever the last bits do."""
    hidden = torch.randn(64, 33, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(1, 33, generator=torch.Generator().manual_seed(1)).repeat(700, 1)
    bias = torch.zeros(700)
    labels = torch.arange(64) * 10
    early = rank_early(hidden, weight, bias, labels, 1000)
    assert early.near_tie.all()
    exact = rank_exact(hidden.double(), weight.double(), bias.double(), labels, 1000)
    assert exact.rank.tolist() == labels.tolist()
