"""What each layer gives to a user's gradient: its share of every user's squared norm, and the sum
of the users' gradients, each times a factor, added to the weights' gradients.

A linear layer's share comes from Gram matrices (see `grams`). With many words it is cheaper to make
the user's gradient itself, which then serves for the sum as well (Bu et al. 2022).
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from leakscope.training.dp.clipping.norms.grams import Gram, few_words, norms_by_grams
from leakscope.training.dp.clipping.norms.row_layout import Layout


class GradientPart(Protocol):
    """A layer's part in the gradients of k users."""

    @property
    def gram(self) -> Gram | None:
        """What Gram matrices tell of the norms."""
        ...

    def squared_norms(self) -> Tensor:
        """[k] float64, without what `gram` tells: 0 for its users."""
        ...

    def add(self, factors: Tensor) -> None:
        """Add the sum of the users' gradients, user u's times factors[u], to `.grad`."""
        ...


class WeightPart(GradientPart, Protocol):
    """The part of one weight."""

    @property
    def weight(self) -> Tensor:
        """The weight."""
        ...


def squared_norms(parts: Sequence[GradientPart]) -> Tensor:
    """[parts, k] float64, the squared norms of each part of every user's gradient."""
    found = torch.stack([part.squared_norms() for part in parts])
    having = [(row, part.gram) for row, part in zip(found, parts, strict=True) if part.gram]
    norms = norms_by_grams([gram for _, gram in having])
    for (row, gram), squared in zip(having, norms, strict=True):
        row[: gram.users] = squared
    return found


def gradient_of(weight: Tensor) -> Tensor:
    """The tensor that sums of gradients are added to."""
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad


def squares(rows: Tensor) -> Tensor:
    """[k, ...] to the squared norms [k], float64. Only the last dimension is summed in the numbers'
    own type: over a million float32 the norm would be off by 1e-4, and so would the clip.
    """
    norms: Tensor = torch.linalg.vector_norm(rows, dim=-1)
    return norms.double().square().flatten(1).sum(1) if rows.dim() > 2 else norms.double().square()


def squared_norm(gradients: Sequence[Tensor]) -> Tensor:
    """[1] the squared norm of all of a gradient's tensors together, float64."""
    return torch.stack([squares(each[None]).cpu() for each in gradients]).sum(0)


def sum_by_user(rows: Tensor, layout: Layout) -> Tensor:
    """[m, w] rows to their sums [k, w]."""
    every = torch.arange(layout.rows, device=rows.device)
    return embedding_bag(every, rows, layout.starts, mode="sum")


class Products:
    """A linear layer: a weight [b, a] on inputs [m, a], and biases [b], by their errors [m, b].
    There may be several weights, that lie side by side and share the errors.
    """

    def __init__(
        self,
        inputs: Tensor,
        errors: Tensor,
        layout: Layout,
        weights: Sequence[Tensor],
        biases: Sequence[Tensor] = (),
    ) -> None:
        self._inputs, self._errors, self._layout = inputs, errors, layout
        self._weights, self._biases = weights, biases
        few = few_words(layout.lengths, inputs.shape[1], errors.shape[1])
        self.gram = Gram(inputs, errors, layout, few, len(biases))
        self._rest = [run for run in layout.runs if run.users.start >= self.gram.users]
        self._kept: list[tuple[Tensor, Tensor]] = []

    def squared_norms(self) -> Tensor:
        """See `GradientPart`."""
        found = [self._errors.new_zeros(self.gram.users, dtype=torch.float64)]
        for run in self._rest:
            inputs, errors = run.of(self._inputs), run.of(self._errors)
            own, sums = torch.bmm(errors.transpose(1, 2), inputs), errors.sum(1)
            self._kept.append((own, sums))
            found.append(squares(own) + len(self._biases) * squares(sums))
        return torch.cat(found)

    def add(self, factors: Tensor) -> None:
        """See `GradientPart`."""
        factors = factors.to(self._errors.dtype)
        if self.gram.users:
            rows = slice(0, self.gram.rows)
            scale, inputs = factors[self._layout.owners[rows]], self._inputs[rows]
            errors = self._errors[rows]
            if inputs.shape[1] < errors.shape[1]:
                inputs = inputs * scale[:, None]
                bias = errors.T @ scale if self._biases else None
            else:
                errors = errors * scale[:, None]
                bias = errors.sum(0) if self._biases else None
            at = 0
            for weight in self._weights:
                gradient_of(weight).addmm_(errors.T, inputs[:, at : at + weight.shape[1]])
                at += weight.shape[1]
            self._add_bias(bias)
        for run, (own, sums) in zip(self._rest, self._kept, strict=True):
            scale, at = factors[run.users], 0
            whole = (scale @ own.flatten(1)).view(own.shape[1:])
            for weight in self._weights:
                gradient_of(weight).add_(whole[:, at : at + weight.shape[1]])
                at += weight.shape[1]
            self._add_bias(scale @ sums)

    def _add_bias(self, total: Tensor | None) -> None:
        if total is not None:
            for bias in self._biases:
                gradient_of(bias).add_(total)


class Lookup:
    """An embedding: row tokens[i] of the weight got errors[i]. Only rows that a user has count."""

    gram = None

    def __init__(self, tokens: Tensor, errors: Tensor, layout: Layout, weight: Tensor) -> None:
        self._tokens, self._errors, self._layout = tokens, errors, layout
        self.weight = weight

    def squared_norms(self) -> Tensor:
        """See `GradientPart`."""
        owners = self._layout.owners
        # What a user's equal tokens got is summed before it is squared.
        key, order = torch.sort(owners * len(self.weight) + self._tokens)
        starts = torch.cat([key.new_zeros(1), torch.nonzero(key.diff()).flatten() + 1])
        each = squares(embedding_bag(order, self._errors, starts, mode="sum"))
        norms = each.new_zeros(self._layout.users)
        return norms.index_add_(0, owners[order[starts]], each)

    def add(self, factors: Tensor) -> None:
        """See `GradientPart`."""
        token, order = torch.sort(self._tokens)
        starts = torch.cat([token.new_zeros(1), torch.nonzero(token.diff()).flatten() + 1])
        scale = factors.to(self._errors.dtype)[self._layout.owners[order]]
        sums = embedding_bag(order, self._errors, starts, mode="sum", per_sample_weights=scale)
        gradient_of(self.weight)[token[starts]] += sums


class Vectors:
    """A weight [w] that multiplies each row or is added to it: its gradient is a sum of rows."""

    gram = None

    def __init__(self, uses: Sequence[tuple[Tensor, Layout]], weight: Tensor) -> None:
        """`uses`: rows [m, w] of each use of the weight, with their layouts."""
        self._sums, self.weight = sum_by_user(*uses[0]), weight
        for rows, layout in uses[1:]:
            self._sums += sum_by_user(rows, layout)

    def squared_norms(self) -> Tensor:
        """See `GradientPart`."""
        return squares(self._sums)

    def add(self, factors: Tensor) -> None:
        """See `GradientPart`."""
        gradient_of(self.weight).add_(factors.to(self._sums.dtype) @ self._sums)
