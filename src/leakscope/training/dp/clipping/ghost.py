"""The clipped sum of many users at once: one pass forward and one back for all of them.

Users do not meet in these networks, so each user's errors are its own, and they are linear in
the weight of its loss. So the errors of one backward pass give the norms of all users'
gradients, and, times each user's factor, the clipped sum: no second pass is needed (Bu et al.
2022, "book-keeping").
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from leakscope.models.word.networks import Network, Recurrent, Transformer
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.clip_factors import Weighting, explode, factors_of, shares_of
from leakscope.training.dp.clipping.norms.gradient_parts import GradientPart, squared_norms
from leakscope.training.dp.clipping.norms.grams import prefers_gradient
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.output_layer import ROWS, Output, Workspace
from leakscope.training.dp.clipping.recurrent import RecurrentBody
from leakscope.training.dp.clipping.text_by_user import UserText
from leakscope.training.dp.clipping.transformer import TransformerBody


def supports(network: Network) -> bool:
    """Whether `add_ghost` knows the network's layers."""
    return isinstance(network, Recurrent | Transformer)


@torch.no_grad()
def add_ghost(
    network: Network, text: UserText, clip: float, weighting: Weighting, space: Workspace
) -> tuple[Tensor, Tensor]:
    """Add the clipped sum to the weights' `.grad`; the users' norms before clipping and their
    summed losses, both [k] float64. Without dropout. Of several users, those who `explode` are
    left out of the sum: each is to be added alone.
    """
    layout = Layout(text.words)
    body = _body(network, text, layout)
    output = Output(network.output, body.hidden, text.labels, layout, space)
    parts: list[GradientPart] = [output, *body.backward(output.to_hidden)]
    squared = squared_norms(parts).sum(0)
    norms, factors = factors_of(squared, shares_of(text.words, weighting), clip)
    if len(norms) > 1:
        factors = torch.where(explode(norms), 0.0, factors)
    for part in parts:
        part.add(factors)
    return norms, output.losses


def groups(
    network: Network, text: UserText, memory: int, most: int | None = None
) -> Iterator[UserText]:
    """The text in parts whose output layers need at most about `memory` bytes each, and of at most
    `most` words each, or of one user each.
    """
    wide, deep = network.output.out_features, network.output.in_features
    first = used = taken = 0
    limit = memory // network.output.weight.element_size()
    for user, words in enumerate(text.words.tolist()):
        need = deep * wide if prefers_gradient(words, deep, wide) else words * wide
        full = used + need + ROWS * wide > limit or (most is not None and taken + words > most)
        if user > first and full:
            yield text.take(first, user)
            first, used, taken = user, 0, 0
        used, taken = used + need, taken + words
    if first < len(text.words):
        yield text.take(first, len(text.words))


def _body(network: Network, text: UserText, layout: Layout) -> RecurrentBody | TransformerBody:
    if isinstance(network, Recurrent):
        return RecurrentBody(network, text, layout)
    if isinstance(network, Transformer):
        return TransformerBody(network, text, layout)
    raise LeakscopeError('This network has layers of its own; use the method "microbatch".')
