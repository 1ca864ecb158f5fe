"""One step of training, without a wasted sweep over the weights."""

import torch

from leakscope.models.word.networks import Network
from leakscope.training.steps.batch_share import BatchShare
from leakscope.training.steps.loss import training_loss


class ShareLoss(torch.nn.Module):
    """The weighted training loss of a share of a batch: a module, since several processes add up
    their gradients around one.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, share: BatchShare) -> torch.Tensor:
        """The mean loss over the share's words, times its weight."""
        loss = training_loss(self.network, share.batch, share.chance)
        return loss if share.weight == 1 else loss * share.weight


def descend(
    network: Network, optimizer: torch.optim.Optimizer, loss: torch.Tensor, clip: float
) -> None:
    """One step of the optimizer down a loss, which may have terms of a mitigation, with a gradient
    of norm `clip` at most.
    """
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad for weight in network.parameters() if weight.grad is not None]
    norm = float(torch.nn.utils.get_total_norm(gradients))
    if norm > clip:  # the usual function sweeps over all gradients even when nothing is clipped
        for gradient in gradients:
            gradient.mul_(clip / norm)
    optimizer.step()


def make_optimizer(network: Network, name: str, learning_rate: float) -> torch.optim.Optimizer:
    """The optimizer of this name, adam or adamax, in its fastest form."""
    if name == "adamax":
        return torch.optim.Adamax(network.parameters(), lr=learning_rate)
    return torch.optim.Adam(network.parameters(), lr=learning_rate, fused=True)
