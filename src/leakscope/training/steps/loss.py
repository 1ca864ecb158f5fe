"""The training loss. The output layer is most of a step's work, so its loss and its gradients
are computed together, a few rows at a time, in one buffer that stays in the cache: the logits
of a whole batch are never in memory.
"""

from typing import Any

import torch
from torch import Tensor

from leakscope.models.word.networks import Chance, Network
from leakscope.training.steps.batches import Batch

ROWS = 256
"""Rows at a time; measured in docs/experiments.md."""


def training_loss(network: Network, batch: Batch, chance: Chance | None) -> Tensor:
    """Mean cross-entropy over the batch's words and document ends."""
    hidden = network.hidden(batch.inputs, chance).flatten(0, 1)[batch.places]
    return output_loss(hidden, network.output.weight, network.output.bias, batch.labels)


def output_loss(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of `labels` [m] under the logits hidden [m, h] @ weight.T + bias."""
    loss: Tensor = _OutputLoss.apply(hidden, weight, bias, labels)  # type: ignore[no-untyped-call]
    return loss


class _OutputLoss(torch.autograd.Function):
    """Gradients are made in the forward pass, where the probabilities are at hand."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
        to_hidden, to_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        to_bias, loss = torch.zeros_like(bias), hidden.new_zeros(())
        buffer = hidden.new_empty(min(ROWS, len(hidden)), len(weight))
        for start in range(0, len(hidden), ROWS):
            rows = slice(start, start + ROWS)
            here, label = hidden[rows], labels[rows, None]
            logits = torch.addmm(bias, here, weight.T, out=buffer[: len(here)])
            own, top = logits.gather(1, label), logits.amax(1, keepdim=True)
            odds = logits.sub_(top).exp_()
            total = odds.sum(1, keepdim=True)
            loss += (total.log() + top - own).sum()
            # d loss / d logits: the probabilities, less one at the label, over the count.
            share = torch.full_like(top, -1.0 / len(hidden))
            errors = odds.div_(total * len(hidden)).scatter_add_(1, label, share)
            torch.mm(errors, weight, out=to_hidden[rows])
            to_weight.addmm_(errors.T, here)
            to_bias += errors.sum(0)
        ctx.gradients = (to_hidden, to_weight, to_bias)
        return loss / len(hidden)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        # In place and given away, since a copy of the weights' gradient costs as much as a step
        # of the optimizer: a second backward pass finds nothing and fails.
        to_hidden, to_weight, to_bias = ctx.gradients
        del ctx.gradients
        return *(each.mul_(outer[0]) for each in (to_hidden, to_weight, to_bias)), None
