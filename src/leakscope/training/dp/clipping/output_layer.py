"""The output layer's part: most of the work of a step, since its errors are as wide as the
vocabulary. They are made once, in memory that is kept from step to step.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from leakscope.training.dp.clipping.norms.gradient_parts import gradient_of, squares
from leakscope.training.dp.clipping.norms.grams import Gram, few_words
from leakscope.training.dp.clipping.norms.row_layout import Layout

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


def to_errors(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Turn logits [m, v] into their errors, in place: probabilities, less one at the label. The
    losses [m], and which rows' labels were so improbable that their losses have lost digits.
    """
    torch.softmax(logits, 1, out=logits)  # one sweep, where its steps by themselves are five
    label = labels[:, None]
    own = logits.gather(1, label)
    logits.scatter_add_(1, label, torch.full_like(own, -1.0))
    lost = own.flatten() < 1e6 * torch.finfo(own.dtype).tiny
    return -own.flatten().log(), torch.nonzero(lost).flatten()


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
        few = few_words(layout.lengths, *shape)
        rows, many = int(layout.lengths[:few].sum()), layout.users - few
        self._errors = space.take("errors", hidden, rows, shape[1])
        self.gram = Gram(hidden, self._errors, layout, few, 1)
        self._own = space.take("own", hidden, many, shape[1], shape[0])
        self._sums = space.take("sums", hidden, many, shape[1])
        self.to_hidden = torch.empty_like(hidden)
        """[m, h] the hidden states' errors."""
        losses = hidden.new_empty(len(hidden))

        def pass_over(here: slice, errors: Tensor) -> None:
            torch.addmm(bias, hidden[here], outer.T, out=errors)
            losses[here], lost = to_errors(errors, labels[here])
            torch.mm(errors, outer, out=self.to_hidden[here])
            for some in torch.split(lost, ROWS):
                logits = torch.addmm(bias, hidden[here][some], outer.T)
                losses[here][some] = cross_entropy(logits, labels[here][some], reduction="none")

        pass_over(slice(0, rows), self._errors)
        for user, length in enumerate(layout.lengths[few:].tolist()):
            own, sums = self._own[user].zero_(), self._sums[user].zero_()
            for here in _stretches(rows, rows + length):
                errors = space.take("passing", hidden, here.stop - here.start, shape[1])
                pass_over(here, errors)
                own.addmm_(errors.T, hidden[here])
                sums += errors.sum(0)
            rows += length
        self.losses = losses.new_zeros(layout.users, dtype=torch.float64)
        """[k] summed over each user's words."""
        self.losses.index_add_(0, layout.owners, losses.double())

    def squared_norms(self) -> Tensor:
        """See `GradientPart`."""
        found = [self._hidden.new_zeros(self.gram.users, dtype=torch.float64)]
        if len(self._own):
            found.append(squares(self._own) + squares(self._sums))
        return torch.cat(found)

    def add(self, factors: Tensor) -> None:
        """See `GradientPart`."""
        factors = factors.to(self._hidden.dtype)
        weight, bias = gradient_of(self._layer.weight), gradient_of(self._layer.bias)
        if len(self._errors):
            rows, errors = len(self._errors), self._errors[:, : len(bias)]
            scale = factors[self._layout.owners[:rows]]
            weight.addmm_(errors.T, self._hidden[:rows] * scale[:, None])
            bias.addmv_(errors.T, scale)
        if len(self._own):
            scale, own = factors[self.gram.users :], self._own[:, : len(bias)]
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
