"""The chunked loss and its gradients against plain autograd."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.training.steps import loss as module
from leakscope.training.steps.loss import output_loss


@settings(max_examples=60)
@given(
    m=st.integers(1, 30),
    h=st.integers(1, 7),
    v=st.integers(2, 20),
    rows=st.sampled_from([1, 4, 256]),
    scale=st.sampled_from([0.1, 1.0, 100.0]),
    seed=st.integers(0, 1000),
)
def test_loss_and_gradients_equal_autograd(m, h, v, rows, scale, seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return (
            torch.randn(shape, generator=generator, dtype=torch.float64) * scale
        ).requires_grad_()

    given_, plain = [], []
    for shape in ((m, h), (v, h), (v,)):
        tensor = draw(*shape)
        given_.append(tensor)
        plain.append(tensor.detach().clone().requires_grad_())
    labels = torch.randint(0, v, (m,), generator=generator)
    before, module.ROWS = module.ROWS, rows
    try:
        mine = output_loss(*given_, labels)
    finally:
        module.ROWS = before
    theirs = torch.nn.functional.cross_entropy(torch.nn.functional.linear(*plain), labels)
    (3 * mine).backward()
    (3 * theirs).backward()
    assert torch.allclose(mine, theirs, rtol=1e-10)
    for a, b in zip(given_, plain, strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-9, atol=1e-9)


def test_float32_stays_close():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(700, 16, generator=generator)
    weight, bias = torch.randn(50, 16, generator=generator), torch.zeros(50)
    labels = torch.randint(0, 50, (700,), generator=generator)
    expected = torch.nn.functional.cross_entropy(hidden @ weight.T + bias, labels)
    assert float(output_loss(hidden, weight, bias, labels)) == pytest.approx(float(expected), 1e-5)
