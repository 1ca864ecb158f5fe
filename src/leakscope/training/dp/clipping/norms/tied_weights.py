"""A weight with several uses, such as an embedding that is the output layer as well. A user's
gradient is the sum of what the uses give, so its norm has terms between them.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from leakscope.training.dp.clipping.norms.gradient_parts import (
    Lookup,
    Products,
    WeightPart,
    gradient_of,
)
from leakscope.training.dp.clipping.norms.grams import upwards, wide
from leakscope.training.dp.clipping.norms.row_layout import EqualLengths, Layout

Use = tuple[Tensor, Tensor, Layout]
"""A linear use: inputs [m, a], errors [m, b]; a lookup: tokens [m], errors [m, a]. Each with its
own layout, of the same users.
"""


class Tied:
    """A weight [b, a] in linear layers and in embeddings."""

    gram = None

    def __init__(self, linear: Sequence[Use], lookups: Sequence[Use], weight: Tensor) -> None:
        self._linear, self._lookups, self.weight = linear, lookups, weight

    def squared_norms(self) -> Tensor:
        """See `GradientPart`."""
        uses = [*self._linear, *self._lookups]
        # Users in one run have the same number of rows in each use.
        by_run = zip(*(layout.runs for _, _, layout in uses), strict=True)
        return torch.cat([self._of_run(list(runs)) for runs in by_run])

    def _of_run(self, runs: Sequence[EqualLengths]) -> Tensor:
        linear = _joined(self._linear, runs[: len(self._linear)])
        lookups = _joined(self._lookups, runs[len(self._linear) :])
        squared = torch.zeros((), dtype=torch.float64, device=self.weight.device)
        sizes = torch.zeros((), dtype=torch.float64, device=self.weight.device)
        if linear is not None:
            inputs, errors = map(wide, linear)
            squared = squared + _inner(inputs, inputs, torch.bmm(errors, errors.transpose(1, 2)))
            sizes = sizes + (inputs.norm(dim=2) * errors.norm(dim=2)).sum(1)
        if lookups is not None:
            tokens, given = lookups[0], wide(lookups[1])
            squared = squared + _inner(given, given, tokens[:, :, None] == tokens[:, None, :])
            sizes = sizes + given.norm(dim=2).sum(1)
        if linear is not None and lookups is not None:
            # Between the two: the error of word i at the row of token j, times what that row got.
            at_tokens = errors.gather(2, tokens[:, None, :].expand(-1, errors.shape[1], -1))
            squared += 2 * _inner(inputs, given, at_tokens)
        return upwards(squared, sizes, torch.promote_types(self.weight.dtype, torch.float32))

    def add(self, factors: Tensor) -> None:
        """See `GradientPart`."""
        for inputs, errors, layout in self._linear:
            scale = factors.to(errors.dtype)[layout.owners]
            gradient_of(self.weight).addmm_(errors.T, inputs * scale[:, None])
        for tokens, errors, layout in self._lookups:
            Lookup(tokens, errors, layout, self.weight).add(factors)


def part_of(linear: Sequence[Use], lookups: Sequence[Use], weight: Tensor) -> WeightPart:
    """The part of a weight with these uses."""
    if len(linear) == 1 and not lookups:
        return _Alone(*linear[0], [weight])
    if len(lookups) == 1 and not linear:
        return Lookup(*lookups[0], weight)
    return Tied(linear, lookups, weight)


class _Alone(Products):
    """A linear layer's weight without its bias."""

    @property
    def weight(self) -> Tensor:
        """The weight."""
        return self._weights[0]


def _joined(uses: Sequence[Use], runs: Sequence[EqualLengths]) -> tuple[Tensor, Tensor] | None:
    """The rows of all uses, user by user: [u, i, ...] each."""
    if not uses:
        return None
    left, right = zip(
        *((run.of(left), run.of(right)) for (left, right, _), run in zip(uses, runs, strict=True)),
        strict=True,
    )
    return torch.cat(left, 1), torch.cat(right, 1)


def _inner(left: Tensor, right: Tensor, times: Tensor) -> Tensor:
    """[u] the sums of left [u, i, a] @ right [u, j, a] times [u, i, j], float64."""
    return (torch.bmm(left, right.transpose(1, 2)) * times).sum((1, 2), dtype=torch.float64)
