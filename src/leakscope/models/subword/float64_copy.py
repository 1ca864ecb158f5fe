"""A Hugging Face network in float64, and how far its usual precision strays from that."""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from leakscope.models.ranking.top_k import NOISE
from leakscope.models.subword.output_heads import Head, slices
from leakscope.models.word.logit_noise import LENGTH, MARGIN, STEP

SEQUENCES = 4  # networks from elsewhere are large, and float64 is slow


class StayDouble(TorchFunctionMode):
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
    """A copy of a network in float64; to be run under `StayDouble`."""
    return deepcopy(network).double()


@torch.inference_mode()
def causal_noise(head: Head, exact: Head | None, context: int | None, dtype: torch.dtype) -> float:
    """A bound on |logit - exact logit| / (1 + |logit|) of a network, at least `NOISE`: as
    `noise.measured_noise`, on one thread and with a fixed seed. Without an `exact` twin the
    network is compared with itself in another batch, and the bound is at least its precision's.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        inputs = _drawn(head.vocabulary, min(LENGTH, context or LENGTH))
        error = _largest_error(head, exact, inputs)
    finally:
        torch.set_num_threads(threads)
    if exact is None:
        error = max(error, torch.finfo(dtype).eps)
    steps = math.ceil(math.log(max(1.0, MARGIN * error / NOISE), STEP))
    return float(NOISE * STEP**steps)


def _drawn(vocabulary: int, length: int) -> Tensor:
    """Sequences of entries, low ones more often: vocabularies begin with what is frequent."""
    drawn = torch.rand(SEQUENCES, length, generator=torch.Generator().manual_seed(0))
    return ((vocabulary ** drawn.double()).long() - 1).clamp(0, vocabulary - 1)


def _largest_error(head: Head, exact: Head | None, inputs: Tensor) -> float:
    judge = head if exact is None else exact
    worst = 0.0
    for row, sequence in enumerate(torch.split(inputs, 1)):
        states = _states(head, sequence)[0]
        if exact is None:
            other = _states(head, inputs[max(0, row - 3) : row + 1])[-1]
        else:
            with StayDouble():
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
