"""The Transformer's body. Layers work on words alone; only attention sees padding. Autograd takes
the errors back through it, but makes no gradient of a weight.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

from leakscope.models.networks import Block, Transformer
from leakscope.training.clipping.layout import Layout
from leakscope.training.clipping.parts import Lookup, Part, Products, Vectors
from leakscope.training.clipping.text import UserText

SHORT = 64
"""Words up to which attention by whole matrices is faster than in blocks; docs/experiments.md."""


class TransformerBody:
    """The body of a Transformer network over a text, without dropout."""

    def __init__(self, network: Transformer, text: UserText, layout: Layout) -> None:
        self._network, self._text, self._layout = network, text, layout
        columns = np.arange(text.sizes.max())
        here = columns < text.sizes[:, None]
        self._padded = here.shape
        self._words = None if here.all() else torch.from_numpy(np.flatnonzero(here))
        self._place = torch.from_numpy(np.broadcast_to(columns, here.shape)[here])
        self._taps: list[tuple[nn.Module, Tensor, Tensor]] = []
        with torch.enable_grad():
            embedded = network.embedding.weight.detach()[text.tokens]
            embedded += network.positions.weight.detach()[self._place]
            self._embedded = x = embedded.requires_grad_()
            for block in network.blocks:
                x = self._block(block, x)  # type: ignore[arg-type]
            self._last = self._norm(network.norm, x)
        self.hidden = self._last.detach()
        """[m, h] by user."""

    def _block(self, block: Block, x: Tensor) -> Tensor:
        """`Block.forward` over words instead of padded rows."""
        n, t = self._padded
        width = x.shape[1]
        qkv = self._linear(block.qkv, self._norm(block.norm_attention, x))
        if self._words is not None:
            qkv = _Pad.apply(qkv, self._words, n * t)  # type: ignore[no-untyped-call]
        heads = qkv.view(n, t, 3, block.heads, width // block.heads)
        mixed = _attention(heads.permute(2, 0, 3, 1, 4)).transpose(1, 2).reshape(n * t, width)
        if self._words is not None:
            mixed = mixed[self._words]
        x = x + self._linear(block.projection, mixed)
        up = self._linear(block.up, self._norm(block.norm_forward, x))
        return x + self._linear(block.down, gelu(up))

    def _linear(self, layer: nn.Linear, x: Tensor) -> Tensor:
        y = torch.addmm(layer.bias.detach(), x, layer.weight.detach().T)
        self._taps.append((layer, x.detach(), y))
        return y

    def _norm(self, layer: nn.LayerNorm, x: Tensor) -> Tensor:
        even = layer_norm(x, layer.normalized_shape, eps=layer.eps)
        y = even * layer.weight.detach() + layer.bias.detach()
        self._taps.append((layer, even.detach(), y))
        return y

    def backward(self, errors: Tensor) -> list[Part]:
        """The layers' parts, from the errors [m, h] of `hidden`."""
        outputs = [y for _, _, y in self._taps]
        *found, embedded = torch.autograd.grad(self._last, [*outputs, self._embedded], errors)
        parts: list[Part] = []
        for (layer, x, _), error in zip(self._taps, found, strict=True):
            if isinstance(layer, nn.Linear):
                parts.append(Products(x, error, self._layout, [layer.weight], [layer.bias]))
            elif isinstance(layer, nn.LayerNorm):
                parts.append(Vectors([(x * error, self._layout)], layer.weight))
                parts.append(Vectors([(error, self._layout)], layer.bias))
        tokens, places = self._network.embedding.weight, self._network.positions.weight
        return [
            *parts,
            Lookup(self._text.tokens, embedded, self._layout, tokens),
            Lookup(self._place, embedded, self._layout, places),
        ]


def _attention(heads: Tensor) -> Tensor:
    """Causal attention [n, heads, t, w] of queries, keys and values [3, n, heads, t, w]."""
    _, n, count, t, width = heads.shape
    if t > SHORT:
        query, key, value = heads
        return scaled_dot_product_attention(query, key, value, is_causal=True)
    query, key, value = heads.reshape(3, n * count, t, width)
    later = query.new_full((t, t), -torch.inf).triu(1)
    alike = torch.baddbmm(later, query, key.transpose(1, 2), alpha=width**-0.5)
    return torch.bmm(alike.softmax(2), value).view(n, count, t, width)


class _Pad(torch.autograd.Function):
    """Words [m, w] to rows of equal length, with zeros at their ends, where nothing looks."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, places: Tensor, rows: int) -> Tensor:
        ctx.places = places
        return words.new_zeros(rows, words.shape[1]).index_copy_(0, places, words)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return outer[0][ctx.places], None, None
