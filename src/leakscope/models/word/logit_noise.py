"""How far float32 logits of one network stray from exact ones, measured on the network itself."""

from copy import deepcopy

import torch
from torch import Tensor

from leakscope.models.ranking.float_noise import drawn_entries, noise_bound, one_thread
from leakscope.models.word.networks import Network

SEQUENCES = 16


@torch.inference_mode()
def measured_noise(network: Network) -> float:
    """A bound on |float32 logit - exact logit| / (1 + |logit|), between `NOISE` and the network's
    own worst case. The same weights always have the same bound.
    """
    inputs = drawn_entries(network.entries, SEQUENCES, network.context)
    with one_thread():
        error = _largest_error(network, inputs.to(network.output.weight.device))
    return min(network.noise, noise_bound(error))


def _largest_error(network: Network, inputs: Tensor) -> float:
    precise = deepcopy(network).double()
    worst = 0.0
    for sequence in torch.split(inputs, 1):  # a row at a time: few logits in memory
        exact = precise.output(precise.hidden(sequence))
        error = (network.output(network.hidden(sequence)) - exact).abs() / (1 + exact.abs())
        worst = max(worst, float(error.max()))
    return worst
