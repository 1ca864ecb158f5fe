"""Whitened states against plain linear algebra, and what no gradient asks for."""

import pytest
import torch

from leakscope.training.regularizers.whitening import (
    ANEW,
    FIRST,
    MOMENTUM,
    RIDGE,
    Whitening,
    standardized,
)


def test_two_batches_by_hand():
    """Means and covariances of both batches count alike: 1 / 2 is above the momentum."""
    torch.manual_seed(0)
    first, second = torch.randn(6, 3), 2 + torch.randn(5, 3)
    whitening = Whitening()
    whitening(first)
    found = whitening(second)
    mean = (first.mean(0) + second.mean(0)) / 2
    covariance = sum(
        (batch - centre).T @ (batch - centre) / len(batch) / 2
        for batch, centre in ((first, first.mean(0)), (second, mean))
    )
    raised = covariance + RIDGE * covariance.diagonal().mean() * torch.eye(3)
    expected = torch.linalg.inv(torch.linalg.cholesky(raised)) @ (second - mean).T
    assert torch.allclose(found, expected.T, atol=1e-4)


def test_small_directions_become_as_large_as_the_others():
    """One of the directions is a tenth of the rest, and lies across the axes."""
    torch.manual_seed(1)
    turned, _ = torch.linalg.qr(torch.randn(4, 4))
    mixed = torch.diag(torch.tensor([1.0, 1.0, 1.0, 0.1])) @ turned
    whitening = Whitening()
    for _ in range(3 * int(1 / MOMENTUM)):
        found = whitening(torch.randn(32, 4) @ mixed)
    found = whitening(torch.randn(20_000, 4) @ mixed)
    covariance = found.T @ found / len(found)
    assert torch.allclose(covariance, torch.eye(4), atol=0.12)


def test_no_gradient_asks_for_smaller_states():
    torch.manual_seed(2)
    states = torch.randn(8, 3, requires_grad=True)
    loss = (standardized(states) * torch.randn(8, 3)).square().sum()
    (gradient,) = torch.autograd.grad(loss, states)
    apart = (states - states.mean(0)).detach()
    assert gradient.abs().max() > 0.1
    assert torch.allclose((gradient * apart).sum(0), torch.zeros(3), atol=0.05)
    assert torch.allclose(gradient.sum(0), torch.zeros(3), atol=1e-4)


@pytest.mark.parametrize("rows", [torch.ones(1, 3), torch.zeros(4, 3), torch.full((4, 3), 1e-12)])
def test_texts_that_are_all_alike_stay_finite(rows):
    rows = rows.requires_grad_()
    found = standardized(Whitening()(rows))
    found.sum().backward()
    assert torch.isfinite(found).all() and torch.isfinite(rows.grad).all()


def test_states_that_are_not_finite_are_passed_on():
    """Whoever trains then says which step it was."""
    assert not torch.isfinite(Whitening()(torch.full((4, 3), torch.nan))).any()


@pytest.mark.parametrize("before", [2, FIRST + 3])
def test_a_restored_one_goes_on_to_the_same_bits(before):
    torch.manual_seed(3)
    batches = torch.randn(before + ANEW, 5, 3)
    whole, begun, restored = Whitening(), Whitening(), Whitening()
    for batch in batches[:before]:
        whole(batch)
        begun(batch)
    restored.restore(begun.state())
    for batch in batches[before:]:
        assert torch.equal(whole(batch), restored(batch))
    assert not torch.equal(Whitening()(batches[-1]), whole(batches[-1]))
