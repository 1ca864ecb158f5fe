"""Whether private training blows its weights up, told by the weights alone.

They are noisy: whatever is computed from them costs no privacy, while losses and gradients would.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from leakscope.records.errors import LeakscopeError

GREAT = 10.0
"""The growth that a training is warned of. Gradients of such weights mostly explode."""
EVERY = 10
"""Steps from one look to the next; snapshots and checkpoints look in any case."""


class WeightGrowth:
    """The norm of all weights together, against what it was at first."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        self._weights = list(weights)
        self._first = max(self._norm(), 1e-30)

    def now(self, steps: int) -> float:
        """How many times their first norm the weights have now; refused if it is no number."""
        found = self._norm()
        if not math.isfinite(found):
            raise LeakscopeError(
                f"The weights are not finite after {steps} steps; lower --learning-rate or --clip, "
                f"or give less noise, and train into another --out."
            )
        return found / self._first

    def caveats(self, steps: int) -> list[str]:
        """What a record says of it."""
        growth = self.now(steps)
        if growth < GREAT:
            return []
        return [
            f"The weights have grown to {growth:.2g} times their first norm, so the training has "
            f"probably diverged; lower the learning rate."
        ]

    @torch.no_grad()
    def _norm(self) -> float:
        norms = torch._foreach_norm([weight.detach() for weight in self._weights])
        return float(torch.stack([norm.double() for norm in norms]).norm())
