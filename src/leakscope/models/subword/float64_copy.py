"""A Hugging Face network in float64, and how far its usual precision strays from that."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from leakscope.models.ranking.float_noise import drawn_entries, noise_bound, one_thread
from leakscope.models.ranking.logit_slices import slices
from leakscope.models.subword.output_heads import Head

SEQUENCES = 4  # networks from elsewhere are large, and float64 is slow


class Float64Mode(TorchFunctionMode):
    """While this is on, what asks for float32 gets float64: many networks compute norms and
    rotations in float32 by name, which would leave float32 noise in their float64 copy.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call `func`, with float64 where it says float32."""
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        options = {name: _wide(value) for name, value in (kwargs or {}).items()}
        return func(*[_wide(value) for value in args], **options)


def _wide(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value


def in_float64(network: Any) -> Any:
    """A copy of a network in float64; to be run under `Float64Mode`."""
    return deepcopy(network).double()


@torch.inference_mode()
def causal_noise(head: Head, exact: Head | None, context: int | None, dtype: torch.dtype) -> float:
    """A bound on |logit - exact logit| / (1 + |logit|) of a network, at least `NOISE`; the same
    weights always have the same bound. Without an `exact` copy the network is compared with
    itself in another batch, and the bound is at least its precision's.
    """
    inputs = drawn_entries(head.vocabulary, SEQUENCES, context)
    with one_thread():
        error = _largest_error(head, exact, inputs)
    if exact is None:
        error = max(error, torch.finfo(dtype).eps)
    return noise_bound(error)


def _largest_error(head: Head, exact: Head | None, inputs: Tensor) -> float:
    judge = head if exact is None else exact
    worst = 0.0
    for row, sequence in enumerate(torch.split(inputs, 1)):
        states = _states(head, sequence)[0]
        if exact is None:
            other = _states(head, inputs[max(0, row - 3) : row + 1])[-1]
        else:
            with Float64Mode():
                other = _states(exact, sequence)[0]
        for part in slices(len(states), head.vocabulary):
            truth = judge.logits(other[part])
            error = (head.logits(states[part]) - truth).abs() / (1 + truth.abs())
            worst = max(worst, float(error.max()))
    return worst


def _states(head: Head, inputs: Tensor) -> Tensor:
    device = head.device
    positions = torch.arange(inputs.shape[1], device=device).expand(inputs.shape)
    mask = torch.ones_like(positions)
    return head.states(inputs.to(device), mask, positions)
