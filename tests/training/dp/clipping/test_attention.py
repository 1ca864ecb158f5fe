"""Attention without padding, against PyTorch's own, one text at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from leakscope.training.dp.clipping import attention
from leakscope.training.dp.clipping.attention import ShortAttention


def plain(qkv, sizes, heads):
    mixed = []
    for rows in qkv.split(sizes):
        query, key, value = rows.view(len(rows), 3, heads, -1).permute(1, 2, 0, 3)
        one = scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed.append(one.transpose(0, 1).reshape(len(rows), -1))
    return torch.cat(mixed)


def both(qkv, errors, sizes, heads):
    """What is attended to and the errors of queries, keys and values: ours and plain."""
    for attend in (lambda x: ShortAttention.apply(x, np.array(sizes), heads),
                   lambda x: plain(x, sizes, heads)):  # fmt: skip
        given = qkv.clone().requires_grad_()
        mixed = attend(given)
        yield mixed.detach(), *torch.autograd.grad(mixed, given, errors)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    heads=st.integers(1, 4),
    width=st.sampled_from([1, 3, 8, 32, 37]),
    scale=st.sampled_from([0.0, 1.0, 30.0]),
    pieces=st.sampled_from([1, 4, 50]),
    threads=st.sampled_from([1, 2]),
)
def test_it_attends_as_pytorch_does(sizes, heads, width, scale, pieces, threads):
    generator = torch.Generator().manual_seed(sum(sizes) + width)
    shape = sum(sizes), heads * width
    qkv = scale * torch.randn(shape[0], 3 * shape[1], dtype=torch.float64, generator=generator)
    errors = torch.randn(shape, dtype=torch.float64, generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "PIECES", pieces)
        patch.setattr(torch, "get_num_threads", lambda: threads)
        ours, theirs = both(qkv, errors, sizes, heads)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-11)


def test_float32_stays_float32():
    generator = torch.Generator().manual_seed(0)
    qkv, errors = torch.randn(30, 48, generator=generator), torch.randn(30, 16, generator=generator)
    ours, theirs = both(qkv, errors, [7, 1, 22], 2)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_large_scores_do_not_overflow():
    qkv = torch.full((4, 6), 1e4)
    (mixed, found), theirs = both(qkv, torch.ones(4, 2), [4], 1)
    torch.testing.assert_close(mixed, theirs[0])
    assert found.isfinite().all()


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("column", range(6))
def test_what_is_no_number_reaches_its_own_text_only(column, bad):
    qkv = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    qkv[1, column] = bad
    (mixed, found), _ = both(qkv, torch.ones(7, 2), [3, 4], 1)
    assert not torch.cat([mixed, found], 1)[:3].isfinite().all()
    assert mixed[3:].isfinite().all() and found[3:].isfinite().all()
