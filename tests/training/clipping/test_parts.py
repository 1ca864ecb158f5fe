"""A layer's part of the norms and sums, against each user's gradient made by itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.training.clipping import parts
from leakscope.training.clipping.layout import SLACK, Layout
from leakscope.training.clipping.parts import Products


def own_gradients(inputs, errors, lengths):
    """[k, b, a], and [k, b] of a bias."""
    weights, biases, start = [], [], 0
    for length in lengths:
        here = slice(start, start + length)
        weights.append(errors[here].T @ inputs[here])
        biases.append(errors[here].sum(0))
        start += length
    return torch.stack(weights), torch.stack(biases)


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=9).map(sorted),
    inputs=st.integers(1, 7),
    outputs=st.integers(1, 7),
    biased=st.booleans(),
    narrow=st.sampled_from([0, parts.NARROW]),
    sweeps=st.sampled_from([1, 60, 10_000]),
)
def test_a_linear_layer(lengths, inputs, outputs, biased, narrow, sweeps):
    generator = torch.Generator().manual_seed(sum(lengths) + inputs)
    rows = sum(lengths)
    x = torch.randn(rows, inputs, dtype=torch.float64, generator=generator)
    e = torch.randn(rows, outputs, dtype=torch.float64, generator=generator)
    weight, bias = torch.zeros(outputs, inputs).double(), torch.zeros(outputs).double()
    layout = Layout(np.array(lengths, np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "NARROW", narrow)
        patch.setattr(parts, "SWEEPS", sweeps)
        part = Products(x, e, layout, [weight], [bias] if biased else [])
        squared = part.squared_norms()
        factors = torch.rand(len(lengths), dtype=torch.float64, generator=generator)
        part.add(factors)
    own, own_bias = own_gradients(x, e, lengths)
    expected = own.square().sum((1, 2)) + (own_bias.square().sum(1) if biased else 0)
    torch.testing.assert_close(squared, expected, rtol=1e-12, atol=1e-12)
    summed = torch.einsum("k,kba->ba", factors, own)
    torch.testing.assert_close(weight.grad, summed, rtol=1e-12, atol=1e-12)
    if biased:
        torch.testing.assert_close(bias.grad, factors @ own_bias, rtol=1e-12, atol=1e-12)


@given(lengths=st.lists(st.integers(1, 60), min_size=1, max_size=30).map(sorted))
def test_bands_hold_every_row_of_every_user_once(lengths):
    layout = Layout(np.array(lengths, np.int64))
    numbers = torch.arange(layout.rows, dtype=torch.float64)[:, None]
    found, user = [], 0
    for band in layout.bands:
        own, lonely = band.of(numbers)[:, :, 0], band.surplus.diagonal(dim1=1, dim2=2)
        for row, surplus in zip(own, lonely, strict=True):
            found += row[~surplus].tolist()
            assert int((~surplus).sum()) == lengths[user]
            assert band.length <= SLACK * lengths[user]
            user += 1
        torch.testing.assert_close(band.surplus, lonely[:, :, None] | lonely[:, None, :])
    assert user == len(lengths)
    assert found == list(range(layout.rows))
