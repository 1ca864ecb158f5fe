"""The compiled kernels of the clipped sum, all in one file (see `compiled`)."""

import math

import numpy as np
import torch

from leakscope.engine.compiled import compiled

KINDS = {torch.float32, torch.float64}
"""What they work on, in the processor's memory."""

TILE = 128
"""Products that are summed in the numbers' own type; such sums are summed in float64."""

LOOSE = {"reassoc", "contract"}
"""Sums may be made in any order and products be fused with them, which fills the processor's
registers; but what is no number stays none.
"""


@compiled()
def sum_products(inputs, errors, ends, biases, squared, sizes):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
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


@compiled()
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
                gram[i, j] += _dot(rows[i, columns], rows[j, columns])


@compiled(fastmath=LOOSE)
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


@compiled(fastmath=LOOSE)
def attend(rows, ends, starts, first, last, heads, mixed, weights):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
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
                    weight[j] = scale * _dot(query, rows[begin + j, wide + low : wide + high])
                    top = max(top, weight[j])
                whole = rows.dtype.type(0)
                for j in range(len(weight)):
                    weight[j] = math.exp(weight[j] - top)
                    whole += weight[j]
                total[:] = 0
                for j in range(len(weight)):
                    weight[j] /= whole
                    _add(total, weight[j], rows[begin + j, 2 * wide + low : 2 * wide + high])


@compiled(fastmath=LOOSE)
def attend_back(rows, ends, starts, first, last, heads, errors, weights, found):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
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
                    to_weight[j] = _dot(error, rows[begin + j, 2 * wide + low : 2 * wide + high])
                    mean += weight[j] * to_weight[j]
                    _add(found[begin + j, 2 * wide + low : 2 * wide + high], weight[j], error)
                for j in range(len(weight)):
                    slope = scale * weight[j] * (to_weight[j] - mean)
                    _add(to_query, slope, rows[begin + j, wide + low : wide + high])
                    _add(found[begin + j, wide + low : wide + high], slope, query)


@compiled(fastmath=LOOSE)
def _add(total, times, row):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for k in range(len(total)):
        total[k] += times * row[k]


@compiled(fastmath=LOOSE)
def _dot(a, b):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """The sum of the products of two rows."""
    total = a.dtype.type(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
