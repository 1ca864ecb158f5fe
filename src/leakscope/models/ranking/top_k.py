"""The output layer, computed only as far as a question needs.

`rank_early` asks only whether each label is among the top k: it takes the vocabulary in blocks,
most frequent words first, and drops a position as soon as k entries surely beat its label.
`rank_full` is the plain way, and gives every log-probability. Both leave decisions within float
noise to the caller, who settles them in float64 by `rank_exact`. `best` names the entries at the
top themselves.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from leakscope.models.ranking.float_noise import EXACT_NOISE, NOISE

FIRST_BLOCK, BLOCK = 512, 2048
"""Entries in the first block, which most misses do not survive, and in all others."""
TILE_CPU, TILE_GPU = 1024, 16_384
"""Positions at a time: a block of logits stays in the cache, or fills the device."""


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


def _slack(label_logits: Tensor, noise: float) -> Tensor:
    return noise * (1 + label_logits.abs())


def rank_early(
    hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int, noise: float = NOISE
) -> Ranked:
    """Ranks below k of `labels` [m] given `hidden` [m, h]; log-probabilities for those alone."""
    rows = TILE_CPU if hidden.device.type == "cpu" else TILE_GPU
    tiles = range(0, len(labels), rows)
    if len(tiles) <= 1:
        return _rank_tile(hidden, weight, bias, labels, k, noise)
    done = [
        _rank_tile(hidden[t : t + rows], weight, bias, labels[t : t + rows], k, noise)
        for t in tiles
    ]
    return Ranked(
        torch.cat([tile.rank for tile in done]),
        torch.cat([tile.log_prob for tile in done]),
        torch.cat([tile.top_log_prob for tile in done]),
        torch.cat([tile.near_tie for tile in done]),
    )


def _rank_tile(
    hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int, noise: float
) -> Ranked:
    """`rank_early` for as many rows as keep a block of logits in the cache."""
    entries = len(weight)
    label_logits = torch.linalg.vecdot(hidden, weight[labels]) + bias[labels]
    slack = _slack(label_logits, noise)
    beaten = torch.zeros(len(labels), dtype=torch.int32, device=hidden.device)
    close = torch.zeros_like(beaten)
    # Log-sum-exp on the way: `total` is the sum of exp(logit - top), the label's own term first.
    top, total = label_logits.clone(), torch.ones_like(label_logits)
    alive = torch.arange(len(labels), device=hidden.device)
    start = 0
    while start < entries and len(alive):
        stop = min(entries, start + (BLOCK if start else FIRST_BLOCK))
        logits = torch.addmm(bias[start:stop], hidden, weight[start:stop].T)
        # The label's logit computed twice may differ in the last bit: it never meets itself.
        own = labels[alive] - start
        inside = ((own >= 0) & (own < stop - start)).nonzero().squeeze(1)
        logits[inside, own[inside]] = -torch.inf
        best = logits.amax(1)
        low, high = (label_logits - slack)[alive], (label_logits + slack)[alive]
        if k == 1:  # whether anything beats the label is all that matters
            beaten[alive] += best > high
            close[alive] += (best >= low) & (best <= high)
        else:
            rivals = (best >= low).nonzero().squeeze(1)
            some = logits[rivals]
            above = (some > high[rivals, None]).sum(1, dtype=torch.int32)
            beaten[alive[rivals]] += above
            reach = (some >= low[rivals, None]).sum(1, dtype=torch.int32)
            close[alive[rivals]] += reach - above
        stays = (beaten[alive] < k).nonzero().squeeze(1)
        if len(stays) < len(alive):
            alive, logits, hidden, best = alive[stays], logits[stays], hidden[stays], best[stays]
        peak = torch.maximum(top[alive], best)
        sums = logits.sub_(peak[:, None]).exp_().sum(1)
        total[alive] = total[alive] * torch.exp(top[alive] - peak) + sums
        top[alive] = peak
        start = stop
    hit = beaten < k
    nan = torch.full_like(label_logits, torch.nan)
    return Ranked(
        beaten.clamp(max=k),
        torch.where(hit, label_logits - top - total.log(), nan),
        torch.where(hit, -total.log(), nan),
        hit & (close > 0),
    )


def rank_full(
    hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int, noise: float = NOISE
) -> Ranked:
    """The same for every position, by the full log-softmax."""
    return rank_logits(torch.addmm(bias, hidden, weight.T), labels, k, noise)


def rank_logits(logits: Tensor, labels: Tensor, k: int, noise: float = NOISE) -> Ranked:
    """`rank_full` of logits [m, v] that are there already; they are overwritten."""
    label_logits = logits.gather(1, labels[:, None]).squeeze(1)
    total = torch.logsumexp(logits, 1)
    top = logits.amax(1)
    slack = _slack(label_logits, noise)
    logits.scatter_(1, labels[:, None], -torch.inf)
    above = (logits > (label_logits + slack)[:, None]).sum(1, dtype=torch.int32)
    close = (logits >= (label_logits - slack)[:, None]).sum(1, dtype=torch.int32) - above
    return Ranked(above.clamp(max=k), label_logits - total, top - total, (above < k) & (close > 0))


def rank_exact(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, k: int) -> Ranked:
    """The design's rule: greater logits, or equal ones with a lower id, beat the label. Meant for
    float64 and few positions; equal means up to float64 noise, so that two columns with the same
    weights tie wherever the matrix product's kernel happens to cut them.
    """
    return rank_logits_exact(torch.addmm(bias, hidden, weight.T), labels, k)


def rank_logits_exact(logits: Tensor, labels: Tensor, k: int) -> Ranked:
    """`rank_exact` of logits [m, v] that are there already."""
    label_logits = logits.gather(1, labels[:, None])
    ids = torch.arange(logits.shape[1], device=logits.device)
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


def best(hidden: Tensor, weight: Tensor, bias: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """(entries [m, count] int64, their log-probabilities) of the greatest logits given `hidden`
    [m, h], the greatest first, equal ones by lower id; `count` is at most the number of entries.
    """
    return best_of(torch.addmm(bias, hidden, weight.T), count)


def best_of(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`best` of logits [m, v] that are there already."""
    entries_in_all = logits.shape[1]
    # One more than asked shows where equal logits straddle the end, of which topk takes any.
    found = torch.topk(logits, min(count + 1, entries_in_all), dim=1)
    by_id = found.indices.argsort(1)
    values, entries = found.values.gather(1, by_id), found.indices.gather(1, by_id)
    order = values.argsort(stable=True, dim=1, descending=True)[:, :count]
    values, entries = values.gather(1, order), entries.gather(1, order)
    if count < entries_in_all:
        torn = (found.values[:, count - 1] == found.values[:, count]).nonzero().squeeze(1)
        if len(torn):
            entries[torn] = logits[torn].argsort(stable=True, dim=1, descending=True)[:, :count]
            values[torn] = logits[torn].gather(1, entries[torn])
    return entries, values - torch.logsumexp(logits, 1, keepdim=True)
