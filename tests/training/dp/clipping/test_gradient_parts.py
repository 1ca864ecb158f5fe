"""A layer's part of the norms and sums, against each user's gradient made by itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.training.dp.clipping.norms import grams
from leakscope.training.dp.clipping.norms.gradient_parts import Products, squared_norms
from leakscope.training.dp.clipping.norms.grams import Gram, norms_by_grams
from leakscope.training.dp.clipping.norms.row_layout import SLACK, Layout


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
    narrow=st.sampled_from([0, grams.NARROW]),
    kinds=st.sampled_from([grams.KINDS, set()]),
    piece=st.sampled_from([1, 1000, grams.PIECE]),
    sweeps=st.sampled_from([1, 60, 10_000]),
)
def test_a_linear_layer(lengths, inputs, outputs, biased, narrow, kinds, piece, sweeps):
    generator = torch.Generator().manual_seed(sum(lengths) + inputs)
    rows = sum(lengths)
    x = torch.randn(rows, inputs, dtype=torch.float64, generator=generator)
    e = torch.randn(rows, outputs, dtype=torch.float64, generator=generator)
    weight, bias = torch.zeros(outputs, inputs).double(), torch.zeros(outputs).double()
    layout = Layout(np.array(lengths, np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grams, "NARROW", narrow)
        patch.setattr(grams, "KINDS", kinds)
        patch.setattr(grams, "PIECE", piece)
        patch.setattr(grams, "SWEEPS", sweeps)
        part = Products(x, e, layout, [weight], [bias] if biased else [])
        (squared,) = squared_norms([part])
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
    few = lengths.index(lengths[-1])  # all but the longest
    for users in (few, len(lengths)):
        check_bands(layout, lengths[:users])


def check_bands(layout, lengths):
    numbers = torch.arange(layout.rows, dtype=torch.float64)[:, None]
    found, user = [], 0
    for band in layout.bands(len(lengths)):
        own, lonely = band.of(numbers)[:, :, 0], band.surplus.diagonal(dim1=1, dim2=2)
        for row, surplus in zip(own, lonely, strict=True):
            found += row[~surplus].tolist()
            assert int((~surplus).sum()) == lengths[user]
            assert band.length <= SLACK * lengths[user]
            user += 1
        torch.testing.assert_close(band.surplus, lonely[:, :, None] | lonely[:, None, :])
    assert user == len(lengths)
    assert found == list(range(sum(lengths)))


def drawn_gram(widths, lengths, kind, biases=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randn(sum(lengths), width, generator=generator, dtype=kind) for width in widths]
    return Gram(*rows, Layout(np.array(lengths, np.int64)), len(lengths), biases)


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("biases", [0, 1, 2])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_kernel_and_the_batches_tell_the_same_norms(kind, biases, threads, monkeypatch):
    monkeypatch.setattr(grams, "PIECE", 100_000)
    # All rests of three rows and of a processor's vectors; several layers at a time.
    lengths = [1, 2, 3, 4, 5, 6, 7, 7, 20, 21, 22, 23]
    layers = [
        drawn_gram(widths, lengths, kind, biases, seed=widths[0])
        for widths in [(1, 1), (7, 33), (64, 192), (1100, 20), (31, 1500)]
    ]
    for kinds in (grams.KINDS, set()):
        monkeypatch.setattr(grams, "KINDS", kinds)
        for gram, found in zip(layers, norms_by_grams(layers), strict=True):
            true, sizes = true_norms(gram)
            assert found.dtype == torch.float64
            assert (found - true >= -1e-12 * true).all()
            assert (
                found - true <= 2 * max(gram.bound, grams.SEEN) * torch.finfo(kind).eps * sizes**2
            ).all()


def true_norms(gram):
    """In float64: the squared norms, and what the norms would be if nothing cancelled."""
    users = gram.layout.lengths.tolist()
    inputs, errors = gram.inputs.double(), gram.errors.double()
    own, bias = own_gradients(inputs, errors, users)
    each = (inputs.square().sum(1) + gram.biases).sqrt() * errors.square().sum(1).sqrt()
    sizes = torch.stack([rows.sum() for rows in each.split(users)])
    return own.square().sum((1, 2)) + gram.biases * bias.square().sum(1), sizes


def test_norms_in_float32_are_never_too_small():
    lengths = [3, 10, 20, 40]
    for seed in range(50):
        gram = drawn_gram((90, 700), lengths, torch.float32, seed=seed)
        # Errors that nearly cancel: a norm far smaller than what it is summed from.
        gram.errors[1::2] = -gram.errors[: len(gram.errors) // 2 * 2 : 2][: len(gram.errors[1::2])]
        gram.inputs[1::2] = gram.inputs[: len(gram.inputs) // 2 * 2 : 2][: len(gram.inputs[1::2])]
        (found,) = norms_by_grams([gram])
        assert (found >= true_norms(gram)[0]).all()


@pytest.mark.parametrize("width", [1000, 10_016, 50_257])
def test_nor_where_every_sum_is_rounded_the_same_way(width):
    lengths = [1, 4, 9, 16]
    for value in (0.1, 0.3, 1 / 3, 0.7):
        gram = drawn_gram((64, width), lengths, torch.float32)
        gram.inputs.fill_(value)
        gram.errors.fill_(value)
        (found,) = norms_by_grams([gram])
        one = np.float64(np.float32(value)) ** 2
        true = torch.tensor(lengths).double() ** 2 * (64 * one + 1) * (width * one)
        assert (found >= true).all()
        assert (found <= true * (1 + 2 * gram.bound * 2**-23)).all()


def test_nor_where_small_products_are_lost_in_large_sums():
    # A few ones in front of many numbers, each of which alone is rounded away.
    for ones in (1, 4, 8, 16, 32):
        gram = drawn_gram((256, 10_240), [3, 6, 20], torch.float32)
        for rows in (gram.inputs, gram.errors):
            rows.view(len(rows), -1, 128)[:, :, :ones] = 1
            rows.view(len(rows), -1, 128)[:, :, ones:] = 2.0**-12 * (1 - 2.0**-20)
        (found,) = norms_by_grams([gram])
        assert (found >= true_norms(gram)[0]).all()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kinds", [grams.KINDS, set()])
def test_errors_too_small_to_multiply_in_half_precision_count(kind, kinds, monkeypatch):
    monkeypatch.setattr(grams, "KINDS", kinds)
    gram = drawn_gram((100, 100), [20], torch.float32)
    gram.inputs.mul_(20)
    gram.errors.mul_(1e-5)
    half = replace(gram, inputs=gram.inputs.to(kind), errors=gram.errors.to(kind))
    (found,) = norms_by_grams([half])
    torch.testing.assert_close(found, true_norms(half)[0], rtol=1e-3, atol=0)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("which", ["inputs", "errors"])
@pytest.mark.parametrize("row", range(5))
def test_what_is_no_number_stays_none(row, which, bad):
    gram = drawn_gram((16, 24), [5, 5], torch.float32)
    getattr(gram, which)[row, 3] = bad
    (found,) = norms_by_grams([gram])
    assert found.isfinite().tolist() == [False, True]


def test_rows_that_do_not_lie_side_by_side():
    gram = drawn_gram((6, 4), [2, 3], torch.float64)
    turned = Gram(gram.inputs.T.contiguous().T, gram.errors[:, :1].expand(5, 4), gram.layout, 2, 0)
    plain = Gram(gram.inputs, gram.errors[:, :1].repeat(1, 4), gram.layout, 2, 0)
    torch.testing.assert_close(norms_by_grams([turned]), norms_by_grams([plain]))


def test_no_layer_and_no_user():
    assert norms_by_grams([]) == []
    gram = drawn_gram((2, 2), [4], torch.float64)
    (found,) = norms_by_grams([Gram(gram.inputs, gram.errors, gram.layout, 0, 1)])
    assert found.shape == (0,)
