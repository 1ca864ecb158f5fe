"""Causal attention over texts that lie one after the other, without padding.

A text of some twenty words has attention matrices too small for BLAS, and to lay them out for a
batched product costs more than to multiply them: here kernels work on the rows where they lie.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.records.ragged import offsets_of
from leakscope.training.dp.clipping.norms.kernels import attend, attend_back
from leakscope.training.steps.threads import in_threads

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
        ctx.ends = offsets_of(sizes)
        ctx.starts = heads * offsets_of(sizes * sizes)
        ctx.rows, ctx.heads = rows, heads
        ctx.weights = np.empty(ctx.starts[-1], rows.dtype)

        def work(texts: tuple[int, int]) -> None:
            attend(rows, ctx.ends, ctx.starts, *texts, heads, mixed, ctx.weights)

        in_threads(work, _pieces(ctx.starts))
        return torch.from_numpy(mixed)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        """See `torch.autograd.Function`."""
        errors = outer[0].contiguous().numpy()
        found = np.empty_like(ctx.rows)

        def work(texts: tuple[int, int]) -> None:
            attend_back(
                ctx.rows, ctx.ends, ctx.starts, *texts, ctx.heads, errors, ctx.weights, found
            )

        in_threads(work, _pieces(ctx.starts))
        return torch.from_numpy(found), None, None


def _pieces(starts: LongArray) -> list[tuple[int, int]]:
    """Texts from one to another, with about equal work."""
    count = PIECES * torch.get_num_threads()
    cuts = np.searchsorted(starts, starts[-1] * np.arange(1, count) / count)
    return list(pairwise(sorted({0, *cuts.tolist(), len(starts) - 1})))
