"""The same private step by opacus, where every document is a user of its own. Needs opacus."""

import warnings
from collections.abc import Callable

import torch
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from opacus.layers import DPGRU, DPLSTM
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from torch import Tensor, nn

from leakscope.models.word.networks import Network, Recurrent
from leakscope.training.steps.batches import Batch


class Logits(nn.Module):
    """A network of ours in layers that opacus knows."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network, shape = network, network.architecture
        if isinstance(network, Recurrent):
            kind = DPLSTM if shape.kind == "lstm" else DPGRU
            body = kind(shape.embedding, shape.hidden, shape.layers, batch_first=True)
            body.load_state_dict(network.body.state_dict())
            network.body = body

    def forward(self, tokens: Tensor) -> Tensor:
        network = self.network
        if isinstance(network, Recurrent):
            states, _ = network.body(network.embedding(tokens))
        else:
            place = torch.arange(tokens.shape[1]).expand(tokens.shape).contiguous()
            states = network.embedding(tokens) + network.positions(place)
            for block in network.blocks:
                states = block(states, None)
            states = network.norm(states)
        return network.output(states)


def opacus_step(
    network: Network, batch: Batch, clip: float, noise: float, ghost: bool
) -> Callable[[], object]:
    """A function that takes one step: gradients of each document, clip, noise, Adam."""
    warnings.filterwarnings("ignore", "Full backward hook is firing")
    documents = len(batch.inputs)
    labels = torch.full(batch.inputs.shape, -100)
    labels.view(-1)[batch.places] = batch.labels
    words = (labels != -100).sum(1)
    model = Logits(network)
    options = {"noise_multiplier": noise, "max_grad_norm": clip, "expected_batch_size": documents}
    plain = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    if ghost:
        wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=clip)
        optimizer = DPOptimizerFastGradientClipping(plain, **options)
    else:
        wrapped, optimizer = GradSampleModule(model), DPOptimizer(plain, **options)

    def step() -> None:
        optimizer.zero_grad()
        logits = wrapped(batch.inputs).transpose(1, 2)
        losses = nn.functional.cross_entropy(logits, labels, reduction="none").sum(1) / words
        if ghost:
            DPTensorFastGradientClipping(wrapped, optimizer, losses, "mean").backward()
        else:
            losses.mean().backward()
        optimizer.step()

    return step
