"""LSTM and GRU layers, forward and backward without autograd, since PyTorch's own kernels do not
give the gates' errors. Each step of time is one product and a few sweeps in place; a piece that
has ended takes no part in the steps after it, so there is no padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from leakscope.models.word.networks import Recurrent
from leakscope.records.ragged import within_rows
from leakscope.training.dp.clipping.norms.gradient_parts import GradientPart, Lookup, Products
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.text_by_user import UserText

Grown = tuple[Tensor, Tensor, Sequence[Tensor], Sequence[Tensor]]
"""Inputs [m, a] and errors [m, b] by time, the weights and the biases that they are for."""


@dataclass(frozen=True)
class Order:
    """The words by time: first the first words of all pieces, longest piece first, and so on."""

    steps: list[slice]
    """The words of each step of time; a step's pieces are the first ones of the step before."""
    by_time: Tensor
    """[m] where, in the order by user, the words in the order by time are."""
    by_user: Tensor
    """[m] the other way round."""

    @staticmethod
    def of(text: UserText) -> "Order":
        """The order of a text's words."""
        longest = np.argsort(-text.sizes, kind="stable")
        sizes = text.sizes[longest]
        active = np.searchsorted(-sizes, -np.arange(sizes[0]), side="left")  # longer than t
        ends = np.cumsum(active)
        rank = np.empty_like(longest)
        rank[longest] = np.arange(len(longest))
        time = within_rows(text.sizes)
        by_user = (ends - active)[time] + np.repeat(rank, text.sizes)
        by_time = np.empty_like(by_user)
        by_time[by_user] = np.arange(len(by_user))
        steps = [slice(int(end - n), int(end)) for end, n in zip(ends, active, strict=True)]
        return Order(steps, torch.from_numpy(by_time), torch.from_numpy(by_user))

    def before(self, states: Tensor) -> Tensor:
        """[m, h] the states one step earlier, zeros at the beginning."""
        found = torch.empty_like(states)
        found[self.steps[0]] = 0
        for then, now in zip(self.steps, self.steps[1:], strict=False):
            found[now] = states[then.start : then.start + now.stop - now.start]
        return found


class LstmLayer:
    """One layer of an LSTM: gates i, f, g, o as PyTorch orders them."""

    def __init__(self, weights: Sequence[Tensor], inputs: Tensor, order: Order) -> None:
        """`weights` as in `nn.LSTM.all_weights`; inputs [m, a] by time."""
        self._weights, self._inputs, self._order = weights, inputs, order
        given, recurrent, given_bias, recurrent_bias = weights
        size = recurrent.shape[1]
        self._gates = torch.addmm(given_bias + recurrent_bias, inputs, given.T)
        self._cells, self._squashed, self.states = inputs.new_empty(3, len(inputs), size)
        then = None
        for now in order.steps:
            gates, cells = self._gates[now], self._cells[now]
            n = len(gates)
            if then is not None:
                gates.addmm_(self.states[then][:n], recurrent.T)
            gates[:, : 2 * size].sigmoid_()
            gates[:, 2 * size : 3 * size].tanh_()
            gates[:, 3 * size :].sigmoid_()
            put, keep, new, out = gates.chunk(4, 1)
            torch.mul(put, new, out=cells)
            if then is not None:
                cells.addcmul_(keep, self._cells[then][:n])
            torch.tanh(cells, out=self._squashed[now])
            torch.mul(out, self._squashed[now], out=self.states[now])
            then = now

    def backward(self, errors: Tensor) -> tuple[Tensor, list[Grown]]:
        """From the states' errors [m, h] by time, which are overwritten, to the inputs' errors and
        what makes the weights' gradients.
        """
        given, recurrent, *biases = self._weights
        put, keep, new, out = self._gates.chunk(4, 1)
        squashed, size = self._squashed, recurrent.shape[1]
        # What does not depend on the errors is computed for all steps at once: the slopes of
        # the gates, times what each is multiplied with.
        slopes = torch.empty_like(self._gates)
        torch.mul(put, 1 - put, out=slopes[:, :size]).mul_(new)
        torch.mul(keep, 1 - keep, out=slopes[:, size : 2 * size]).mul_(
            self._order.before(self._cells)
        )
        torch.mul(put, 1 - new * new, out=slopes[:, 2 * size : 3 * size])
        torch.mul(out, 1 - out, out=slopes[:, 3 * size :]).mul_(squashed)
        to_cell = out * (1 - squashed * squashed)
        deep = slopes.view(len(slopes), 4, size)
        carried, after = errors.new_zeros(0, size), None
        for now in reversed(self._order.steps):
            error, cell = errors[now], to_cell[now]
            if after is not None:
                n = after.stop - after.start
                error[:n].addmm_(slopes[after], recurrent)
            cell.mul_(error)
            cell[: len(carried)].add_(carried)
            deep[now][:, :3].mul_(cell[:, None])
            deep[now][:, 3].mul_(error)
            carried = cell.mul_(keep[now])
            after = now
        both = torch.cat([self._inputs, self._order.before(self.states)], 1)
        return slopes @ given, [(both, slopes, [given, recurrent], biases)]


class GruLayer:
    """One layer of a GRU: gates r, z, n as PyTorch orders them."""

    def __init__(self, weights: Sequence[Tensor], inputs: Tensor, order: Order) -> None:
        """`weights` as in `nn.GRU.all_weights`; inputs [m, a] by time."""
        self._weights, self._inputs, self._order = weights, inputs, order
        given, recurrent, given_bias, recurrent_bias = weights
        size = recurrent.shape[1]
        bias = given_bias.clone()
        bias[: 2 * size] += recurrent_bias[: 2 * size]
        self._gates = torch.addmm(bias, inputs, given.T)
        self.states, self._old = inputs.new_empty(2, len(inputs), size)
        scratch = inputs.new_empty(len(self._gates[order.steps[0]]), 3 * size)
        then = None
        for now in order.steps:
            gates, old = self._gates[now], self._old[now]
            n = len(gates)
            if then is not None:
                before = self.states[then][:n]
                product = torch.mm(before, recurrent.T, out=scratch[:n])
                gates[:, : 2 * size].add_(product[:, : 2 * size])
                torch.add(product[:, 2 * size :], recurrent_bias[2 * size :], out=old)
            else:
                old.copy_(recurrent_bias[2 * size :])
            gates[:, : 2 * size].sigmoid_()
            reset, update, new = gates.chunk(3, 1)
            new.addcmul_(reset, old).tanh_()
            if then is not None:
                torch.lerp(new, before, update, out=self.states[now])
            else:
                torch.mul(new, 1 - update, out=self.states[now])
            then = now

    def backward(self, errors: Tensor) -> tuple[Tensor, list[Grown]]:
        """See `LstmLayer.backward`."""
        given, recurrent, given_bias, recurrent_bias = self._weights
        reset, update, new = self._gates.chunk(3, 1)
        size, before = recurrent.shape[1], self._order.before(self.states)
        slopes = torch.empty_like(self._gates)
        to_reset, to_update, to_old = slopes.chunk(3, 1)
        to_new = (1 - update).mul_(1 - new * new)
        torch.mul(to_new, reset, out=to_old)
        torch.mul(to_old, 1 - reset, out=to_reset).mul_(self._old)
        torch.sub(before, new, out=to_update).mul_(update).mul_(1 - update)
        deep, after = slopes.view(len(slopes), 3, size), None
        for now in reversed(self._order.steps):
            error = errors[now]
            if after is not None:
                n = after.stop - after.start
                error[:n].addmm_(slopes[after], recurrent)
                error[:n].addcmul_(errors[after], update[after])
            deep[now].mul_(error[:, None])
            after = now
        direct = slopes.clone()
        torch.mul(to_new, errors, out=direct[:, 2 * size :])
        return direct @ given, [
            (self._inputs, direct, [given], [given_bias]),
            (before, slopes, [recurrent], [recurrent_bias]),
        ]


class RecurrentBody:
    """The body of an LSTM or GRU network over a text, without dropout."""

    def __init__(self, network: Recurrent, text: UserText, layout: Layout) -> None:
        self._network, self._text, self._layout = network, text, layout
        self._order = Order.of(text)
        layer = LstmLayer if isinstance(network.body, nn.LSTM) else GruLayer
        states = network.embedding.weight[text.tokens[self._order.by_time]]
        self._layers: list[LstmLayer | GruLayer] = []
        for weights in network.body.all_weights:
            self._layers.append(layer(weights, states, self._order))
            states = self._layers[-1].states
        self.hidden = states[self._order.by_user]
        """[m, h] by user."""

    def backward(self, errors: Tensor) -> list[GradientPart]:
        """The layers' parts, from the errors [m, h] of `hidden`."""
        errors, by_user = errors[self._order.by_time], self._order.by_user
        parts: list[GradientPart] = []
        for layer in reversed(self._layers):
            errors, products = layer.backward(errors)
            for inputs, gates, weights, biases in products:
                rows = inputs[by_user], gates[by_user]
                parts.append(Products(*rows, self._layout, weights, biases))
        embedding = self._network.embedding.weight
        return [*parts, Lookup(self._text.tokens, errors[by_user], self._layout, embedding)]
