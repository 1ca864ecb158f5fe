"""The output layer's part: most of the work of a step, since its errors are as wide as the
vocabulary. They are made once, in memory that is kept from step to step.
"""

import torch
from torch import Tensor, nn

from leakscope.training.clipping.layout import Layout
from leakscope.training.clipping.parts import gradient_of, prefers_own, squares, summed_upwards

ROWS = 512
"""Rows at a time where the errors need not be kept; measured in docs/experiments.md."""

ALIGNED = 16
"""The output layer is made as wide as a multiple of this: a quarter faster; docs/experiments.md."""


class Workspace:
    """Tensors that are kept, since fresh memory costs as much as a sweep over it."""

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """A tensor with any content, valid until the same name is taken again."""
        size = torch.Size(shape).numel()
        kept = self._kept.get(name)
        if kept is None or kept.numel() < size or kept.dtype != like.dtype:
            kept = self._kept[name] = like.new_empty(size)
        return kept[:size].view(shape)


def errors_of(logits: Tensor, labels: Tensor, errors: Tensor) -> Tensor:
    """The losses [m] of logits [m, v]; `errors` [m, v] become the logits' errors: probabilities,
    less one at the label.
    """
    torch.softmax(logits, 1, out=errors)  # one sweep, where its steps by themselves are five
    label = labels[:, None]
    own = errors.gather(1, label)
    errors.scatter_add_(1, label, torch.full_like(own, -1.0))
    losses = -own.flatten().log()
    # A probability this small has lost digits, or is 0.
    lost = torch.nonzero(own.flatten() < 1e6 * torch.finfo(own.dtype).tiny).flatten()
    rows = logits[lost]
    losses[lost] = rows.logsumexp(1) - rows.gather(1, label[lost]).flatten()
    return losses


class Output:
    """The output layer over hidden states [m, h], with the loss summed over each user's words."""

    def __init__(
        self, layer: nn.Linear, hidden: Tensor, labels: Tensor, layout: Layout, space: Workspace
    ) -> None:
        self._layer, self._hidden, self._layout = layer, hidden, layout
        outer, bias = _aligned(layer, space)
        shape = outer.shape[1], outer.shape[0]
        # As in `Products`; but errors are kept only where Gram matrices are taken, and a user's
        # own gradient is summed up over a few rows at a time.
        self._gram = [run for run in layout.runs if not prefers_own(run.length, *shape)]
        self._few = self._gram[-1].users.stop if self._gram else 0
        rows = self._gram[-1].rows.stop if self._gram else 0
        many = layout.users - self._few
        self._errors = space.take("errors", hidden, rows, shape[1])
        self._own = space.take("own", hidden, many, shape[1], shape[0])
        self._sums = space.take("sums", hidden, many, shape[1])
        self.to_hidden = torch.empty_like(hidden)
        """[m, h] the hidden states' errors."""
        losses = hidden.new_empty(len(hidden))

        def pass_over(here: slice, errors: Tensor) -> None:
            logits = space.take("logits", hidden, len(errors), shape[1])
            torch.addmm(bias, hidden[here], outer.T, out=logits)
            losses[here] = errors_of(logits, labels[here], errors)

        for here in _stretches(0, rows):
            pass_over(here, self._errors[here])
        torch.mm(self._errors, outer, out=self.to_hidden[:rows])
        for user, length in enumerate(layout.lengths[self._few :].tolist()):
            own, sums = self._own[user].zero_(), self._sums[user].zero_()
            for here in _stretches(rows, rows + length):
                errors = space.take("passing", hidden, here.stop - here.start, shape[1])
                pass_over(here, errors)
                torch.mm(errors, outer, out=self.to_hidden[here])
                own.addmm_(errors.T, hidden[here])
                sums += errors.sum(0)
            rows += length
        self.losses = losses.new_zeros(layout.users, dtype=torch.float64)
        """[k] summed over each user's words."""
        self.losses.index_add_(0, layout.owners, losses.double())

    def squared_norms(self) -> Tensor:
        """See `Part`."""
        found = []
        for run in self._gram:
            inputs, errors = run.of(self._hidden), run.of(self._errors)
            alike = torch.bmm(inputs, inputs.transpose(1, 2)).add_(1)
            alike *= torch.bmm(errors, errors.transpose(1, 2))
            found.append(summed_upwards(alike))
        if len(self._own):
            found.append(squares(self._own) + squares(self._sums))
        return torch.cat(found)

    def add(self, factors: Tensor) -> None:
        """See `Part`."""
        factors = factors.to(self._hidden.dtype)
        weight, bias = gradient_of(self._layer.weight), gradient_of(self._layer.bias)
        if len(self._errors):
            rows, errors = len(self._errors), self._errors[:, : len(bias)]
            scale = factors[self._layout.owners[:rows]]
            weight.addmm_(errors.T, self._hidden[:rows] * scale[:, None])
            bias.addmv_(errors.T, scale)
        if len(self._own):
            scale, own = factors[self._few :], self._own[:, : len(bias)]
            weight.view(-1).addmv_(own.flatten(1).T, scale)
            bias.addmv_(self._sums[:, : len(bias)].T, scale)


def _aligned(layer: nn.Linear, space: Workspace) -> tuple[Tensor, Tensor]:
    """The layer's weight and bias with outputs added that get no probability and no error."""
    size = layer.out_features
    wide = -(-size // ALIGNED) * ALIGNED
    if wide == size:
        return layer.weight, layer.bias
    weight = space.take("weight", layer.weight, wide, layer.in_features)
    bias = space.take("bias", layer.bias, wide)
    weight[:size], weight[size:] = layer.weight, 0
    bias[:size], bias[size:] = layer.bias, -torch.inf
    return weight, bias


def _stretches(start: int, stop: int) -> list[slice]:
    """ROWS rows at a time."""
    return [slice(each, min(each + ROWS, stop)) for each in range(start, stop, ROWS)]
