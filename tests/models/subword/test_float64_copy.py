"""The float64 copy of a network stays float64, whatever its code asks for by name."""

import numpy as np
import pytest
import torch

from leakscope.models.subword.float64_copy import Float64Mode, in_float64
from tiny_causal import network

NARROW = {
    "float": lambda x: x.float(),
    "to": lambda x: x.to(torch.float32),
    "to by name": lambda x: x.to(dtype=torch.float32),
    "type": lambda x: x.type(torch.float32),
    "softmax": lambda x: torch.softmax(x, -1, dtype=torch.float32),
    "zeros": lambda x: x + torch.zeros(len(x), dtype=torch.float32) + x.sum(dtype=torch.float32),
}
"""How networks ask for float32."""


@pytest.mark.parametrize("how", NARROW)
def test_nothing_is_rounded_to_float32(how):
    fine = torch.linspace(0, 1, 7, dtype=torch.float64) / 3
    with Float64Mode():
        found = NARROW[how](fine)
    assert found.dtype == torch.float64
    if how in ("float", "to", "to by name", "type"):
        assert torch.equal(found, fine)
    assert fine.float().dtype == torch.float32  # as before, once it is off


class ScaleByFloat(torch.nn.Module):
    """A norm as Llama's was first written: `x.float()`, scaled, and back."""

    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt((wide**2).mean(-1, keepdim=True) + 1e-6)).to(x)


def test_norms_and_rotations_of_a_copy_are_those_of_float64_arithmetic():
    """The states that a norm in `.float()` gives, and a rotary angle, against numpy's."""
    made = in_float64(network("llama", 60))
    made.model.norm = ScaleByFloat(made.model.norm.weight)
    seen = []
    made.model.norm.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    inputs, places = torch.arange(12)[None], torch.arange(12)[None]
    with torch.inference_mode(), Float64Mode():
        states = made.model(inputs).last_hidden_state
        cosines, _ = made.model.rotary_emb(states, places)
    before = seen[0].numpy()
    assert before.dtype == np.float64
    scaled = before / np.sqrt((before**2).mean(-1, keepdims=True) + 1e-6)
    expected = made.model.norm.weight.numpy() * scaled
    np.testing.assert_allclose(states.numpy(), expected, rtol=1e-14, atol=1e-14)
    angles = np.outer(np.arange(12.0), made.model.rotary_emb.inv_freq.numpy())
    np.testing.assert_allclose(
        cosines[0].numpy(), np.cos(np.hstack([angles, angles])), rtol=1e-14, atol=1e-14
    )
