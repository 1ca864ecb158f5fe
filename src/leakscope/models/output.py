"""The output layer, computed only as far as a question needs.

`rank_early` asks only whether each label is among the top k: it takes the vocabulary in blocks,
most frequent words first, and drops a position as soon as k entries surely beat its label.
`rank_full` is the plain way, and gives every log-probability. Both leave decisions within float
noise to the caller, who settles them in float64 by `rank_exact`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_BLOCK, BLOCK = 512, 2048
NOISE = 2e-5
"""Logits that differ by less than this times (1 + |logit|) may swap when the batch changes;
measured on trained models in docs/experiments.md."""
EXACT_NOISE = 1e-12
"""The same for float64."""


@dataclass(frozen=True)
class Ranked:
    """Answers for m positions."""

    rank: Tensor
    """[m] int32: how many entries surely beat the label; capped at k."""
    log_prob: Tensor
    """[m] float32; NaN where it was not computed."""
    top_log_prob: Tensor
    """[m] float32; NaN where it was not computed."""
    near_tie: Tensor
    """[m] bool: some entry is within noise of the label, and the rank below k depends on it."""


def _slack(label_logits: Tensor) -> Tensor:
    return NOISE * (1 + label_logits.abs())


def rank_early(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int) -> Ranked:
    """Ranks below k of `labels` [m] given `hidden` [m, h]; log-probabilities for those alone."""
    m, entries = len(labels), len(weight)
    label_logits = torch.linalg.vecdot(hidden, weight[labels]) + bias[labels]
    slack = _slack(label_logits)
    high, low = label_logits + slack, label_logits - slack
    beaten = torch.zeros(m, dtype=torch.int32, device=hidden.device)
    close = torch.zeros_like(beaten)
    total = label_logits.clone()  # running log-sum-exp, the label's own term first
    top = label_logits.clone()
    alive = torch.arange(m, device=hidden.device)
    start = 0
    while start < entries and len(alive):
        stop = min(entries, start + (BLOCK if start else FIRST_BLOCK))
        logits = torch.addmm(bias[start:stop], hidden[alive], weight[start:stop].T)
        # The label's logit computed twice may differ in the last bit: it never meets itself.
        own = labels[alive] - start
        inside = ((own >= 0) & (own < stop - start)).nonzero().squeeze(1)
        logits[inside, own[inside]] = -torch.inf
        above = (logits > high[alive, None]).sum(1, dtype=torch.int32)
        beaten[alive] += above
        close[alive] += (logits >= low[alive, None]).sum(1, dtype=torch.int32) - above
        stays = (beaten[alive] < k).nonzero().squeeze(1)
        if len(stays) < len(alive):
            alive, logits = alive[stays], logits[stays]
        total[alive] = torch.logaddexp(total[alive], torch.logsumexp(logits, 1))
        top[alive] = torch.maximum(top[alive], logits.amax(1))
        start = stop
    hit = beaten < k
    nan = torch.full_like(label_logits, torch.nan)
    return Ranked(
        beaten.clamp(max=k),
        torch.where(hit, label_logits - total, nan),
        torch.where(hit, top - total, nan),
        hit & (close > 0),
    )


def rank_full(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int) -> Ranked:
    """The same for every position, by the full log-softmax."""
    logits = torch.addmm(bias, hidden, weight.T)
    label_logits = logits.gather(1, labels[:, None]).squeeze(1)
    total = torch.logsumexp(logits, 1)
    top = logits.amax(1)
    slack = _slack(label_logits)
    logits.scatter_(1, labels[:, None], -torch.inf)
    above = (logits > (label_logits + slack)[:, None]).sum(1, dtype=torch.int32)
    close = (logits >= (label_logits - slack)[:, None]).sum(1, dtype=torch.int32) - above
    return Ranked(above.clamp(max=k), label_logits - total, top - total, (above < k) & (close > 0))


def rank_exact(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int) -> Ranked:
    """The design's rule: greater logits, or equal ones with a lower id, beat the label. Meant for
    float64 and few positions; equal means up to float64 noise, so that two columns with the same
    weights tie wherever the matrix product's kernel happens to cut them.
    """
    logits = torch.addmm(bias, hidden, weight.T)
    label_logits = logits.gather(1, labels[:, None])
    ids = torch.arange(len(weight), device=hidden.device)
    slack = EXACT_NOISE * (1 + label_logits.abs())
    equal = (logits - label_logits).abs() <= slack
    beats = torch.where(equal, ids < labels[:, None], logits > label_logits)
    total = torch.logsumexp(logits, 1)
    rank = beats.sum(1, dtype=torch.int32).clamp(max=k)
    return Ranked(
        rank,
        (label_logits.squeeze(1) - total).float(),
        (logits.amax(1) - total).float(),
        torch.zeros_like(rank, dtype=torch.bool),
    )
