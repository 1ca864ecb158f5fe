"""Whether what a user contributes is the same whoever stands beside it in the batch. If it is not,
clipping does not bound what one user changes.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.clipper import Clipped
from leakscope.training.dp.clipping.module_clipper import LossOf, ModuleClipper
from leakscope.training.dp.custom_loop.losses import COARSE, full_precision
from leakscope.training.dp.custom_loop.user_texts import UserTexts
from leakscope.training.dp.sampling import Draw

FIRST = 3
"""Checks in a row at the beginning; after that, each comes after twice as many steps as the one
before. So n steps have at most about 2 + log2(n) checks, each of about the price of two steps in
which every user is taken by itself."""
FINE, ROUGH = 1e-3, 0.05
"""How much losses may differ, relative to the largest, and gradients, relative to the clip: from
rounding alone, and where frozen weights are in half precision."""
LEAST_LOSS = 0.1
"""Of a word. Losses below are a difference of larger numbers, whose rounding they are full of; the
gradients tell more then."""


class CheckTimes:
    """When to check: by the number of steps alone, but that a check needs two users."""

    def __init__(self) -> None:
        self._steps, self._checks, self._next = 0, 0, 0

    def due(self, users: int) -> bool:
        """Whether the step that begins now, with so many users, is to be checked."""
        step, self._steps = self._steps, self._steps + 1
        if users < 2 or step < self._next:
            return False
        self._checks += 1
        self._next = step + 1 if self._checks < FIRST else 2 * max(step, 1)
        return True


@dataclass(frozen=True, eq=False)
class StepRows:
    """The rows of a step: n users."""

    batch: object
    users: LongArray
    """[rows] below n."""
    shares: Tensor
    """[n] what a user's summed loss is multiplied with."""


@dataclass(frozen=True, eq=False)
class _Alone:
    """What users contribute if each is by itself."""

    losses: Tensor
    norms: Tensor
    sums: list[Tensor]
    """Of the clipped gradients, for each trained weight."""


class ApartCheck:
    """Compares users alone, each in a batch of its own, with all of them together, in both
    orders: their losses, the norms of their gradients, and the sum of the clipped gradients.
    """

    def __init__(self, network: nn.Module, clip: float, loss_of: LossOf, texts: UserTexts) -> None:
        self._network, self._clip, self._texts = network, clip, texts
        self._plain = ModuleClipper(network, clip, loss_of, method="microbatch")

    def write(self, clipper: ModuleClipper, draw: Draw, rows: StepRows) -> None:
        """Let `clipper` write the clipped sum of a draw, and refuse it where users meet."""
        with full_precision(self._network):
            alone = self._alone(draw, rows.shares)
        self._compare_losses(clipper, draw, rows, alone)
        together = clipper.write(rows.batch, rows.users, len(draw), rows.shares)
        self._compare_gradients(alone, together)

    def _alone(self, draw: Draw, shares: Tensor) -> _Alone:
        weights = self._weights()
        losses, norms = torch.zeros(2, len(draw), dtype=torch.float64)
        sums = [torch.zeros_like(weight) for weight in weights]
        for user in range(len(draw)):
            here = slice(user, user + 1)
            one = self._texts.batch(chosen(draw, [user]))
            owners = np.zeros(int(np.diff(draw.offsets)[user]), np.int64)
            found = self._plain.write(one, owners, 1, shares[here])
            losses[here], norms[here] = found.losses, found.norms
            for total, weight in zip(sums, weights, strict=True):
                if weight.grad is not None:
                    total.add_(weight.grad)
        return _Alone(losses, norms, sums)

    def _compare_losses(
        self, clipper: ModuleClipper, draw: Draw, rows: StepRows, alone: _Alone
    ) -> None:
        count = len(draw)
        words = 1 / rows.shares.double()
        scale = torch.maximum(alone.losses.abs().nan_to_num(0, 0, 0), LEAST_LOSS * words).max()
        found = clipper.losses(rows.batch, rows.users, count)
        turned = np.arange(count)[::-1]
        batch = self._texts.batch(chosen(draw, turned.tolist()))
        owners = np.repeat(turned, np.diff(draw.offsets)[turned])
        other = clipper.losses(batch, owners, count, backwards=True)
        if not all(self._close(each, alone.losses, scale) for each in (found, other)):
            again = clipper.losses(rows.batch, rows.users, count)
            raise _meeting() if self._close(again, found, scale) else _by_chance()

    def _compare_gradients(self, alone: _Alone, together: Clipped) -> None:
        if not self._close(together.norms, alone.norms, alone.norms.clamp(min=self._clip)):
            raise _meeting()
        squared = 0.0
        for weight, plain in zip(self._weights(), alone.sums, strict=True):
            if weight.grad is not None:
                squared += float((weight.grad - plain).double().square().sum())
        # Rounding goes this way and that, so it grows as the root of the number of users.
        most = self._tolerance() * self._clip * math.sqrt(len(alone.losses))
        if not math.sqrt(squared) <= most:
            raise _meeting()

    def _close(self, found: Tensor, expected: Tensor, scale: Tensor) -> bool:
        """Where a user alone is beyond any number, there is nothing to compare: it contributes
        nothing, and to stop would tell of its text.
        """
        near = (found - expected).abs() <= self._tolerance() * scale
        return bool((near | ~torch.isfinite(expected)).all())

    def _tolerance(self) -> float:
        coarse = any(weight.dtype in COARSE for weight in self._network.parameters())
        return ROUGH if coarse else FINE

    def _weights(self) -> list[nn.Parameter]:
        return [weight for weight in self._network.parameters() if weight.requires_grad]


def chosen(draw: Draw, users: list[int]) -> Draw:
    """Some users of a draw, in this order."""
    counts = np.diff(draw.offsets)[users]
    places = [np.arange(draw.offsets[user], draw.offsets[user + 1]) for user in users]
    rows = np.concatenate(places)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Draw(draw.units[users], offsets, draw.pieces[rows], draw.sizes[rows])


def _meeting() -> LeakscopeError:
    return LeakscopeError(
        "What a user contributes depends on other users in the batch, so clipping would not bound "
        "what one user changes; make loss_of and collate treat every row by itself (rows that are "
        "padded in front need an attention mask and positions), and lower the learning rate if "
        "gradients explode."
    )


def _by_chance() -> LeakscopeError:
    return LeakscopeError(
        "The network or loss_of gives the same rows another loss each time, so one user's texts "
        "would change what others contribute; switch off dropout and other randomness, and keep "
        "no state from call to call."
    )
