"""Changes of weights are seen, whoever makes them and however."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.training import LoopOptions, PrivacySettings, make_private
from leakscope.training.dp.custom_loop.weight_sums import _PIECE, same, sums_of

KINDS = (torch.float32, torch.float64, torch.bfloat16, torch.bool, torch.complex128)


@given(
    kind=st.sampled_from(KINDS), size=st.integers(1, 40), at=st.integers(0), seed=st.integers(0, 99)
)
def test_any_other_value_gives_other_sums(kind, size, at, seed):
    drawn = torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(kind)
    before = sums_of([drawn, torch.ones(3)])
    assert same(before, sums_of([drawn.clone(), torch.ones(3)]))
    changed = drawn.clone()
    changed[at % size] = ~drawn[at % size] if kind == torch.bool else drawn[at % size] + 1
    assert not same(before, sums_of([changed, torch.ones(3)]))


LENGTH = 4 * _PIECE + 7


@pytest.mark.parametrize(
    "places", [(0, 1), (0, 2), (5, 2 * _PIECE + 5), (2 * _PIECE - 1, 4 * _PIECE), (3, LENGTH - 1)]
)
def test_values_that_change_places_give_other_sums(places):
    drawn = torch.arange(LENGTH, dtype=torch.float32)
    turned = drawn.clone()
    turned[list(places)] = drawn[list(reversed(places))]
    assert not same(sums_of([drawn]), sums_of([turned]))
    assert same(sums_of([drawn]), sums_of([drawn.view(1, -1).T.contiguous().T]))


@pytest.mark.parametrize("begin", [1, 2, 3])
def test_values_in_the_midst_of_others_are_the_same(begin):
    drawn = torch.randn(50)
    assert same(sums_of([drawn[begin:]]), sums_of([drawn[begin:].clone()]))


def test_no_values_have_no_sums():
    assert same(sums_of([torch.zeros(0)]), sums_of([torch.zeros(0, 3)]))
    assert not same(sums_of([]), sums_of([torch.zeros(0)]))


def by_data(weight):
    weight.data.add_(1e-6)


def by_numpy(weight):
    weight.detach().numpy()[0, 0] += 1e-6


def by_other_storage(weight):
    weight.data = weight.data + 1e-6


def by_set(weight):
    with torch.no_grad():
        weight.set_(weight.detach().clone() * 2)


def by_alias(weight):
    alias = weight.data
    with torch.no_grad():
        alias[0].mul_(1.5)


def by_swapping_rows(weight):
    weight.data[[0, 1]] = weight.data[[1, 0]]


WAYS = (by_data, by_numpy, by_other_storage, by_set, by_alias, by_swapping_rows)


def loop(network, out):
    data = [[torch.full((4,), float(user))] for user in range(6)]
    return make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        data,
        PrivacySettings(rate=1.0, noise_multiplier=1.0),
        steps=5,
        out=out,
        options=LoopOptions(lambda network, rows: network(rows).sum(1), torch.stack),
    )


@pytest.mark.parametrize("change", WAYS)
def test_weights_changed_between_steps_are_noticed(change, tmp_path):
    network = nn.Linear(4, 3)
    private = loop(network, tmp_path)
    private.take()
    change(network.weight)
    with pytest.raises(LeakscopeError, match="changed between"):
        private.take()
    assert private.record().steps == 1
    assert all(weight.grad is None for weight in network.parameters())


def test_the_same_values_in_another_place_are_the_same(tmp_path):
    network = nn.Linear(4, 3)
    private = loop(network, tmp_path)
    private.take()
    network.weight.data = network.weight.data.clone()
    assert private.take().step == 2
