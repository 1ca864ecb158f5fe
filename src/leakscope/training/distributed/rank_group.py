"""What a step asks of the processes that share it. Everything that differs between one process and
several is behind this: a step is written once, and never asks which process it runs in.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from leakscope.records.documents import LongArray


class RankGroup(Protocol):
    """The processes of a training, which take every step together. The first of them decides what
    is random, and writes. All of them call the same methods in the same order.
    """

    def share(self, sizes: LongArray) -> LongArray:
        """The numbers of those parts of a step, of these sizes, that are to be done here; every
        part is done by one process.
        """
        ...

    def decided(self, choose: Callable[[], LongArray]) -> LongArray:
        """What `choose` gives, which the first process alone calls."""
        ...

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Make each tensor its sum over all processes, in the first of them; in the others the
        values are of no use until `once` sets them.
        """
        ...

    def once(self, change: Callable[[], None], tensors: Iterable[Tensor]) -> None:
        """Let the first process alone call `change`, which changes the tensors; then they are the
        same everywhere.
        """
        ...

    def total(self, value: float) -> float:
        """The sum of all processes' values, the same everywhere."""
        ...

    def parallel(self, loss: nn.Module) -> nn.Module:
        """A module that gives this process's part of a loss, such that going back from it gives
        the gradient of the sum of all parts, the same everywhere.
        """
        ...


class OneRank:
    """One process alone; see `RankGroup`."""

    def share(self, sizes: LongArray) -> LongArray:
        """All parts."""
        return np.arange(len(sizes))

    def decided(self, choose: Callable[[], LongArray]) -> LongArray:
        """What this process chooses."""
        return choose()

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """They are sums already."""

    def once(self, change: Callable[[], None], tensors: Iterable[Tensor]) -> None:
        """Change them."""
        change()

    def total(self, value: float) -> float:
        """The value itself."""
        return value

    def parallel(self, loss: nn.Module) -> nn.Module:
        """The module itself."""
        return loss
