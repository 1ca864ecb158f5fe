"""The squared norm of a sum of outer products, from two Gram matrices.

The gradient of a linear layer is a sum of outer products, errors times inputs, over a user's
words. Its squared norm is the sum of the products of two Gram matrices (Goodfellow 2015; Li et
al. 2021, 4), over all words of all the user's documents: words of different documents have
products too.

A user has some twenty words, and a matrix that small is not what BLAS is made for. Here one
kernel makes one half of each matrix, since they are symmetric, and sums the products, from the
rows where they lie. On other devices, users of about equal length share a batched product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.records.ragged import offsets_of
from leakscope.training.dp.clipping.norms.kernels import KINDS, TILE, sum_products
from leakscope.training.dp.clipping.norms.row_layout import Band, EqualLengths, Layout
from leakscope.training.steps.threads import in_threads, in_turn

SWEEPS = 60
"""Multiplications that cost as much as one number written and read twice; docs/experiments.md."""
SEEN = 8
"""Rounding errors of BLAS, in units of the numbers' precision: 5.4 at most on random, positive and
softmax-like rows; on rows of one number, whose roundings are all alike, more; docs/experiments.md.
"""
NARROW = 1024
"""Columns of rows that are rather copied than multiplied in more, smaller products."""
PIECE = 2**25
"""Multiplications that a thread takes on at a time; fewer are not worth a second thread."""


def prefers_gradient(length: int, inputs: int, outputs: int) -> bool:
    """Whether a user's gradient [outputs, inputs] itself is cheaper than two Gram matrices."""
    return length * length * (inputs + outputs) > SWEEPS * inputs * outputs


def few_words(lengths: LongArray, inputs: int, outputs: int) -> int:
    """How many users have so few words that Gram matrices are cheaper: the first ones."""
    return sum(not prefers_gradient(length, inputs, outputs) for length in lengths.tolist())


def upwards(squared: Tensor, sizes: Tensor, kind: torch.dtype, units: float = SEEN) -> Tensor:
    """Squared norms [u], made of products in `kind`, rounded upwards: a norm that is too small
    would let a user through the clip. `sizes` [u]: what the norm would be if nothing cancelled.
    """
    slack = units * torch.finfo(kind).eps
    return squared.clamp(min=0) + slack * sizes.double() ** 2


@dataclass(frozen=True, eq=False)
class Gram:
    """A weight on inputs [m, a] with errors [m, b] and so many biases, in the gradients of the
    first `users` users.
    """

    inputs: Tensor
    errors: Tensor
    layout: Layout
    users: int
    biases: int

    @property
    def rows(self) -> int:
        """Of these users."""
        return int(self.layout.lengths[: self.users].sum())

    @property
    def bound(self) -> float:
        """Rounding errors of the kernel, in units of the numbers' precision, at most: half a unit
        for each product that is summed in their own type.
        """
        return sum(min(rows.shape[1], TILE) / 2 for rows in (self.inputs, self.errors))


def norms_by_grams(grams: Sequence[Gram]) -> list[Tensor]:
    """The squared norms [users] of each, float64."""
    grams = [_widened(gram) for gram in grams]
    kernel = [gram for gram in grams if _fits_kernel(gram)]
    found = dict(zip(map(id, kernel), _by_kernel(kernel), strict=True))
    return [found[id(gram)] if id(gram) in found else _by_batches(gram) for gram in grams]


def _widened(gram: Gram) -> Gram:
    """In half precision, the products of small errors would be 0."""
    return replace(gram, inputs=wide(gram.inputs), errors=wide(gram.errors))


def wide(rows: Tensor) -> Tensor:
    """In float32 at least."""
    return rows if rows.dtype in (torch.float32, torch.float64) else rows.float()


def _fits_kernel(gram: Gram) -> bool:
    kinds = {gram.inputs.dtype, gram.errors.dtype}
    return gram.inputs.is_cpu and len(kinds) == 1 and kinds <= KINDS


def _by_kernel(grams: Sequence[Gram]) -> list[Tensor]:
    """All of them together, since waking threads costs as much as a layer's matrices."""
    found, pieces, cost = [], [], 0.0
    for gram in grams:
        lengths = gram.layout.lengths[: gram.users]
        rows = gram.inputs.contiguous().numpy(), gram.errors.contiguous().numpy()
        ends, results = offsets_of(lengths), np.empty((2, gram.users))
        costs = np.cumsum(lengths.astype(np.float64) ** 2) * sum(each.shape[1] for each in rows)
        cost += float(costs[-1]) if gram.users else 0.0
        first = np.flatnonzero(np.diff(costs // PIECE, prepend=-1))
        for begin, end in pairwise([*first.tolist(), gram.users]):
            here = results[:, begin:end]
            pieces.append((*rows, ends[begin : end + 1], gram.biases, *here))
        found.append(results)
    run = in_threads if cost > PIECE else in_turn
    run(lambda piece: sum_products(*piece), pieces)
    norms = []
    for gram, results in zip(grams, found, strict=True):
        squared, sizes = torch.from_numpy(results)
        norms.append(upwards(squared, sizes, gram.inputs.dtype, gram.bound))
    return norms


def _by_batches(gram: Gram) -> Tensor:
    inputs, errors, layout = gram.inputs, gram.errors, gram.layout
    width = max(inputs.shape[1], errors.shape[1])
    groups: Sequence[Band | EqualLengths]
    if width <= NARROW:
        groups = layout.bands(gram.users)
    else:
        groups = [run for run in layout.runs if run.users.start < gram.users]
    found = [inputs.new_empty(0, dtype=torch.float64)]
    for each in groups:
        x, e = each.of(inputs), each.of(errors)
        alike = torch.bmm(x, x.transpose(1, 2)).add_(gram.biases)
        alike *= torch.bmm(e, e.transpose(1, 2))
        if isinstance(each, Band):
            alike.masked_fill_(each.surplus, 0)
        sizes = alike.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt().sum(1)
        squared = alike.sum((1, 2), dtype=torch.float64)
        found.append(upwards(squared, sizes, alike.dtype))
    return torch.cat(found)
