"""The Transformer's body. Layers work on words alone; only attention within
long texts sees padding. Autograd takes
the errors back through it, but makes no gradient of a weight.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

from leakscope.models.word.networks import Block, Transformer
from leakscope.training.dp.clipping.attention import ShortAttention
from leakscope.training.dp.clipping.norms.gradient_parts import (
    GradientPart,
    Lookup,
    Products,
    Vectors,
)
from leakscope.training.dp.clipping.norms.kernels import KINDS
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.text_by_user import UserText

SHORT = 48
"""Words up to which attention without padding is faster; docs/experiments.md."""


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
        qkv = self._linear(block.qkv, self._norm(block.norm_attention, x))
        x = x + self._linear(block.projection, self._attention(qkv, block.heads))
        up = self._linear(block.up, self._norm(block.norm_forward, x))
        return x + self._linear(block.down, gelu(up))

    def _attention(self, qkv: Tensor, heads: int) -> Tensor:
        """Queries, keys and values [m, 3w] to what the words attend to [m, w]."""
        if qkv.is_cpu and qkv.dtype in KINDS and self._padded[1] <= SHORT:
            mixed: Tensor = ShortAttention.apply(qkv, self._text.sizes, heads)  # type: ignore[no-untyped-call]
            return mixed
        (n, t), width = self._padded, qkv.shape[1] // 3
        if self._words is not None:
            qkv = _Pad.apply(qkv, self._words, n * t)  # type: ignore[no-untyped-call]
        query, key, value = qkv.view(n, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed = mixed.transpose(1, 2).reshape(n * t, width)
        return mixed if self._words is None else mixed[self._words]

    def _linear(self, layer: nn.Linear, x: Tensor) -> Tensor:
        y = torch.addmm(layer.bias.detach(), x, layer.weight.detach().T)
        self._taps.append((layer, x.detach(), y))
        return y

    def _norm(self, layer: nn.LayerNorm, x: Tensor) -> Tensor:
        even = layer_norm(x, layer.normalized_shape, eps=layer.eps)
        y = torch.addcmul(layer.bias.detach(), even, layer.weight.detach())
        self._taps.append((layer, even.detach(), y))
        return y

    def backward(self, errors: Tensor) -> list[GradientPart]:
        """The layers' parts, from the errors [m, h] of `hidden`."""
        outputs = [y for _, _, y in self._taps]
        *found, embedded = torch.autograd.grad(self._last, [*outputs, self._embedded], errors)
        parts: list[GradientPart] = []
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


class _Pad(torch.autograd.Function):
    """Words [m, w] to rows of equal length, with zeros at their ends, where nothing looks."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, places: Tensor, rows: int) -> Tensor:
        ctx.places = places
        return words.new_zeros(rows, words.shape[1]).index_copy_(0, places, words)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return outer[0][ctx.places], None, None
