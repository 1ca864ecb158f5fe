"""Causal attention over texts that lie one after the other, without padding.

A text of some twenty words has attention matrices too small for BLAS, and to lay them out for a
batched product costs more than to multiply them: here kernels work on the rows where they lie.
"""

import math
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.training.clipping.kernels import LOOSE, dot
from leakscope.training.threads import in_threads

PIECES = 4
"""For each thread, so that none waits long for another."""


class ShortAttention(torch.autograd.Function):
    """From queries, keys and values side by side [m, 3w], as `kernels` work on, to
    what the words attend to [m, w].
    """

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, sizes: LongArray, heads: int) -> Tensor:
        """`sizes` [n]: words of each text, m in all."""
        rows = qkv.detach().contiguous().numpy()
        mixed = np.empty((len(rows), rows.shape[1] // 3), rows.dtype)
        ctx.ends = np.concatenate([[0], np.cumsum(sizes)])
        ctx.starts = heads * np.concatenate([[0], np.cumsum(sizes * sizes)])
        ctx.rows, ctx.heads = rows, heads
        ctx.weights = np.empty(ctx.starts[-1], rows.dtype)

        def work(texts: tuple[int, int]) -> None:
            _forward(rows, ctx.ends, ctx.starts, *texts, heads, mixed, ctx.weights)

        in_threads(work, _pieces(ctx.starts))
        return torch.from_numpy(mixed)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        """See `torch.autograd.Function`."""
        errors = outer[0].contiguous().numpy()
        found = np.empty_like(ctx.rows)

        def work(texts: tuple[int, int]) -> None:
            _backward(ctx.rows, ctx.ends, ctx.starts, *texts, ctx.heads, errors, ctx.weights, found)

        in_threads(work, _pieces(ctx.starts))
        return torch.from_numpy(found), None, None


def _pieces(starts: LongArray) -> list[tuple[int, int]]:
    """Texts from one to another, with about equal work."""
    count = PIECES * torch.get_num_threads()
    cuts = np.searchsorted(starts, starts[-1] * np.arange(1, count) / count)
    return list(pairwise(sorted({0, *cuts.tolist(), len(starts) - 1})))


@numba.njit(cache=True, nogil=True, fastmath=LOOSE)
def _forward(rows, ends, starts, first, last, heads, mixed, weights):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """`mixed` [m, w] become the values' means of the texts from `first` to before `last`, and
    `weights` the weights that they have in them: [heads, t, t] of each text from starts[text] on,
    of which only those j <= i are written.
    """
    wide = mixed.shape[1]
    width = wide // heads
    scale = rows.dtype.type(1 / math.sqrt(width))
    for text in range(first, last):
        begin, end, at = ends[text], ends[text + 1], starts[text]
        for head in range(heads):
            low, high = head * width, (head + 1) * width
            for i in range(begin, end):
                weight = weights[at : at + i + 1 - begin]
                at += end - begin
                query, total = rows[i, low:high], mixed[i, low:high]
                top = rows.dtype.type(-np.inf)
                for j in range(len(weight)):
                    weight[j] = scale * dot(query, rows[begin + j, wide + low : wide + high])
                    top = max(top, weight[j])
                whole = rows.dtype.type(0)
                for j in range(len(weight)):
                    weight[j] = math.exp(weight[j] - top)
                    whole += weight[j]
                total[:] = 0
                for j in range(len(weight)):
                    weight[j] /= whole
                    _add(total, weight[j], rows[begin + j, 2 * wide + low : 2 * wide + high])


@numba.njit(cache=True, nogil=True, fastmath=LOOSE)
def _backward(rows, ends, starts, first, last, heads, errors, weights, found):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """`found` [m, 3w] become the errors of `rows`, from those of the means, [m, w]."""
    wide = errors.shape[1]
    width = wide // heads
    scale = rows.dtype.type(1 / math.sqrt(width))
    to_weight = np.empty(np.diff(ends[first : last + 1]).max(), rows.dtype)
    for text in range(first, last):
        begin, end, at = ends[text], ends[text + 1], starts[text]
        found[begin:end] = 0
        for head in range(heads):
            low, high = head * width, (head + 1) * width
            for i in range(begin, end):
                weight = weights[at : at + i + 1 - begin]
                at += end - begin
                error, query, to_query = errors[i, low:high], rows[i, low:high], found[i, low:high]
                mean = rows.dtype.type(0)
                for j in range(len(weight)):
                    to_weight[j] = dot(error, rows[begin + j, 2 * wide + low : 2 * wide + high])
                    mean += weight[j] * to_weight[j]
                    _add(found[begin + j, 2 * wide + low : 2 * wide + high], weight[j], error)
                for j in range(len(weight)):
                    slope = scale * weight[j] * (to_weight[j] - mean)
                    _add(to_query, slope, rows[begin + j, wide + low : wide + high])
                    _add(found[begin + j, wide + low : wide + high], slope, query)


@numba.njit(cache=True, nogil=True, fastmath=LOOSE)
def _add(total, times, row):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for k in range(len(total)):
        total[k] += times * row[k]
