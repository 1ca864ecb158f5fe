"""The noise bound is measured on the network, and holds on inputs that it has not seen."""

from copy import deepcopy

import pytest
import torch

from leakscope.models.ranking.float_noise import NOISE
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.logit_noise import measured_noise
from leakscope.models.word.networks import make_network

SHAPE = Architecture("transformer", 3, 24, 24, heads=3, context=40)


def sharpened(factor, seed=0, kind=SHAPE):
    """Attention scores grow with the square of `factor`, and so does the noise."""
    network = make_network(kind, 300, torch.Generator().manual_seed(seed)).eval()
    with torch.no_grad():
        for block in network.blocks:
            block.qkv.weight.mul_(factor)
    return network


def largest_error(network, seed):
    tokens = torch.randint(0, 300, (40, 40), generator=torch.Generator().manual_seed(seed))
    precise = deepcopy(network).double()
    with torch.inference_mode():
        exact = precise.output(precise.hidden(tokens))
        return float(((network.output(network.hidden(tokens)) - exact).abs()).max())


@pytest.mark.parametrize("factor", [1, 30, 300])
def test_the_bound_holds_on_other_inputs(factor):
    network = sharpened(factor)
    bound = measured_noise(network)
    assert NOISE <= bound <= network.noise
    assert all(largest_error(network, seed) <= bound for seed in range(5))


def test_sharper_attention_has_a_wider_bound():
    assert measured_noise(sharpened(1)) == NOISE
    assert measured_noise(sharpened(1000)) > 3 * NOISE


def test_threads_do_not_change_the_bound_nor_does_it_change_the_threads():
    before = torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.add(measured_noise(sharpened(100)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1
