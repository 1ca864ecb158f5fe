"""The squared norm of a sum of outer products, from two Gram matrices.

The gradient of a linear layer is a sum of outer products, errors times inputs, over a user's
words. Its squared norm is the sum of the products of two Gram matrices (Goodfellow 2015; Li et
al. 2021, 4), over all words of all the user's documents: words of different documents have
products too.

A user has some twenty words, and a matrix that small is not what BLAS is made for. Here one
kernel makes both halves that differ of both matrices and sums their products, from the rows
where they lie. On other devices, users of about equal length share a batched product.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.training.clipping.kernels import KINDS, LOOSE, dot
from leakscope.training.clipping.layout import Band, Layout, Run
from leakscope.training.threads import in_threads, in_turn

SWEEPS = 60
"""Multiplications that cost as much as one number written and read twice; docs/experiments.md."""
ROUNDING = 8
"""Rounding errors of a sum of products, in units of its precision, at most. Seen: 6 by the kernel,
on rows of one number, whose roundings are all alike; and 5 by BLAS, on other rows.
"""
TILE = 256
"""Products that the kernel sums in the numbers' own type; their sums are summed in float64."""
NARROW = 1024
"""Columns of rows that are rather copied than multiplied in more, smaller products."""
PIECE = 2**25
"""Multiplications that a thread takes on at a time; fewer are not worth a second thread."""


def prefers_own(length: int, inputs: int, outputs: int) -> bool:
    """Whether a user's gradient [outputs, inputs] itself is cheaper than two Gram matrices."""
    return length * length * (inputs + outputs) > SWEEPS * inputs * outputs


def few_words(lengths: LongArray, inputs: int, outputs: int) -> int:
    """How many users have so few words that Gram matrices are cheaper: the first ones."""
    return sum(not prefers_own(length, inputs, outputs) for length in lengths.tolist())


def upwards(squared: Tensor, sizes: Tensor, kind: torch.dtype) -> Tensor:
    """Squared norms [u], made of products in `kind`, rounded upwards: a norm that is too small
    would let a user through the clip. `sizes` [u]: what the norm would be if nothing cancelled.
    """
    slack = ROUNDING * torch.finfo(kind).eps
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


def norms_by_grams(grams: Sequence[Gram]) -> list[Tensor]:
    """The squared norms [users] of each, float64."""
    kernel = [gram for gram in grams if _fits_kernel(gram)]
    found = dict(zip(map(id, kernel), _by_kernel(kernel), strict=True))
    return [found[id(gram)] if id(gram) in found else _by_batches(gram) for gram in grams]


def _fits_kernel(gram: Gram) -> bool:
    kinds = {gram.inputs.dtype, gram.errors.dtype}
    return gram.inputs.is_cpu and len(kinds) == 1 and kinds <= KINDS


def _by_kernel(grams: Sequence[Gram]) -> list[Tensor]:
    """All of them together, since waking threads costs as much as a layer's matrices."""
    found, pieces = [], []
    for gram in grams:
        lengths = gram.layout.lengths[: gram.users]
        rows = gram.inputs.contiguous().numpy(), gram.errors.contiguous().numpy()
        ends, results = np.concatenate([[0], np.cumsum(lengths)]), np.empty((2, gram.users))
        costs = np.cumsum(lengths.astype(np.float64) ** 2) * sum(each.shape[1] for each in rows)
        first = np.flatnonzero(np.diff(costs // PIECE, prepend=-1))
        for begin, end in pairwise([*first.tolist(), gram.users]):
            here = results[:, begin:end]
            pieces.append((*rows, ends[begin : end + 1], gram.biases, *here))
        found.append(results)
    run = in_threads if len(pieces) > 1 else in_turn
    run(lambda piece: _sum_products(*piece), pieces)
    norms = []
    for gram, results in zip(grams, found, strict=True):
        squared, sizes = torch.from_numpy(results)
        norms.append(upwards(squared, sizes, gram.inputs.dtype))
    return norms


def _by_batches(gram: Gram) -> Tensor:
    inputs, errors, layout = gram.inputs, gram.errors, gram.layout
    width = max(inputs.shape[1], errors.shape[1])
    groups: Sequence[Band | Run]
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


@numba.njit(cache=True, nogil=True)
def _sum_products(inputs, errors, ends, biases, squared, sizes):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """`squared` [u] become the squared norms of users whose rows lie between `ends` [u + 1], and
    `sizes` [u] what the norms would be if nothing cancelled.
    """
    longest = np.diff(ends).max()
    left, right = np.empty((longest, longest)), np.empty((longest, longest))
    for user in range(len(squared)):
        here = slice(ends[user], ends[user + 1])
        _gram(inputs[here], left)
        _gram(errors[here], right)
        total = size = 0.0
        for i in range(ends[user + 1] - ends[user]):
            beside = 0.0
            for j in range(i):
                beside += (left[i, j] + biases) * right[i, j]
            own = (left[i, i] + biases) * right[i, i]
            total += 2 * beside + own
            size += math.sqrt(max(own, 0.0))
        squared[user], sizes[user] = total, size


@numba.njit(cache=True, nogil=True)
def _gram(rows, gram):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """gram [i, j] becomes rows[i] @ rows[j] for j <= i: three by three, so that each number that
    is read serves three times, and one by one at the end.
    """
    whole = len(rows) // 3 * 3
    gram[: len(rows), : len(rows)] = 0
    for at in range(0, rows.shape[1], TILE):
        columns = slice(at, min(at + TILE, rows.shape[1]))
        for i in range(0, whole, 3):
            for j in range(0, i + 1, 3):
                _three_by_three(rows, i, j, columns, gram)
        for i in range(whole, len(rows)):
            for j in range(i + 1):
                gram[i, j] += dot(rows[i, columns], rows[j, columns])


@numba.njit(cache=True, nogil=True, fastmath=LOOSE)
def _three_by_three(rows, i, j, columns, gram):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    a, b, c = rows[i, columns], rows[i + 1, columns], rows[i + 2, columns]
    d, e, f = rows[j, columns], rows[j + 1, columns], rows[j + 2, columns]
    ad = ae = af = bd = be = bf = cd = ce = cf = rows.dtype.type(0)
    for k in range(len(a)):
        ad += a[k] * d[k]
        ae += a[k] * e[k]
        af += a[k] * f[k]
        bd += b[k] * d[k]
        be += b[k] * e[k]
        bf += b[k] * f[k]
        cd += c[k] * d[k]
        ce += c[k] * e[k]
        cf += c[k] * f[k]
    gram[i, j] += ad
    gram[i, j + 1] += ae
    gram[i, j + 2] += af
    gram[i + 1, j] += bd
    gram[i + 1, j + 1] += be
    gram[i + 1, j + 2] += bf
    gram[i + 2, j] += cd
    gram[i + 2, j + 1] += ce
    gram[i + 2, j + 2] += cf
