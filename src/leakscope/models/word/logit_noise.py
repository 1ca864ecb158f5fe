"""How far float32 logits of one network stray from exact ones, measured on the network itself."""

import math
from copy import deepcopy

import torch
from torch import Tensor

from leakscope.models.ranking.top_k import NOISE
from leakscope.models.word.networks import Network

SEQUENCES, LENGTH = 16, 64
MARGIN = 20
"""Over the largest error seen: rare positions among millions are worse than the worst of these."""
STEP = 4.0
"""Bounds are `NOISE` times a power of this, so that they do not depend on the last bits."""


@torch.inference_mode()
def measured_noise(network: Network) -> float:
    """A bound on |float32 logit - exact logit| / (1 + |logit|), between `NOISE` and the network's
    own worst case. The inputs are drawn, frequent entries more often, with a fixed seed, and one
    thread computes, so that the same weights always have the same bound.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        error = _largest_error(network, _drawn_inputs(network))
    finally:
        torch.set_num_threads(threads)
    steps = math.ceil(math.log(max(1.0, MARGIN * error / NOISE), STEP))
    return min(network.noise, NOISE * STEP**steps)


def _drawn_inputs(network: Network) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(SEQUENCES, min(LENGTH, network.context or LENGTH), generator=generator)
    entries = (network.entries ** drawn.double()).long() - 1
    return entries.clamp(0, network.entries - 1).to(network.output.weight.device)


def _largest_error(network: Network, inputs: Tensor) -> float:
    precise = deepcopy(network).double()
    worst = 0.0
    for sequence in torch.split(inputs, 1):  # a row at a time: few logits in memory
        exact = precise.output(precise.hidden(sequence))
        error = (network.output(network.hidden(sequence)) - exact).abs() / (1 + exact.abs())
        worst = max(worst, float(error.max()))
    return worst
