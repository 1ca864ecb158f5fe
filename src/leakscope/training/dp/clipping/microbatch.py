"""The clipped sum, one user after the other: its documents are one batch, whose gradient comes
from plain autograd. Works with any network.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from leakscope.models.word.networks import Network
from leakscope.training.dp.clipping.clip_factors import Weighting, factors_of, shares_of
from leakscope.training.dp.clipping.norms.gradient_parts import Lookup, gradient_of, squared_norm
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.text_by_user import UserText
from leakscope.training.steps.batches import Batch
from leakscope.training.steps.loss import training_loss


def add_microbatch(
    network: Network, text: UserText, clip: float, weighting: Weighting
) -> tuple[Tensor, Tensor]:
    """See `add_ghost`."""
    # The embedding is left out of autograd: it would fill all rows for the few that a user has.
    dense = [weight for weight in network.parameters() if weight is not network.embedding.weight]
    norms, losses = [], []
    with torch.enable_grad(), _tap(network.embedding) as taken:
        for one in text.each_user():
            batch, words = one.batch(), int(one.words[0])
            loss = training_loss(network, batch, None)
            *gradients, rows = torch.autograd.grad(loss, [*dense, taken.pop()])
            lookup = _lookup(network, batch, one, rows)
            squared = squared_norm(gradients) + lookup.squared_norms()
            squared *= words**2  # as of the summed loss
            norm, factor = factors_of(squared, shares_of(one.words, weighting), clip)
            with torch.no_grad():
                sums = [gradient_of(weight) for weight in dense]
                torch._foreach_add_(sums, gradients, alpha=float(factor) * words)
                lookup.add(factor * words)
            norms.append(norm)
            losses.append(loss.detach().double().view(1) * words)
    return torch.cat(norms), torch.cat(losses)


def _lookup(network: Network, batch: Batch, one: UserText, rows: Tensor) -> Lookup:
    """The embedding's part, from the errors [n, t, d] of what it gave; those of padding are 0."""
    return Lookup(
        one.tokens, rows.flatten(0, 1)[batch.places], Layout(one.words), network.embedding.weight
    )


@contextmanager
def _tap(embedding: nn.Embedding) -> Iterator[list[Tensor]]:
    """While open, what the embedding gives is a leaf of autograd's graph, and is noted."""
    taken: list[Tensor] = []

    def leaf(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        taken.append(output.detach().requires_grad_())
        return taken[-1]

    handle = embedding.register_forward_hook(leaf)
    try:
        yield taken
    finally:
        handle.remove()
