"""What a regularizer is to whoever trains with it, and the means that it keeps for the history."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor


class Learner(NamedTuple):
    """A network that a regularizer trains for itself, and its optimizer."""

    network: torch.nn.Module
    optimizer: torch.optim.Optimizer


class AuthorTerm(Protocol):
    """A privacy loss over the states of a batch's texts, to be added to the loss of the words."""

    @property
    def privacy_weight(self) -> float:
        """What the privacy loss is multiplied with in the end."""
        ...

    @property
    def privacy_warmup(self) -> float:
        """Epochs until then."""
        ...

    def loss(self, states: Tensor, authors: Tensor) -> Tensor:
        """The privacy loss of states [n, h] of texts by `authors` [n], numbered from 0. Its
        gradient goes to the states and to nothing else. What the regularizer learns, it learns
        here.
        """
        ...

    @property
    def learners(self) -> Mapping[str, Learner]:
        """Its own networks, by names that are good for files."""
        ...

    def figures(self) -> dict[str, float | None]:
        """Means over the batches since `restart`; None where there was none to measure."""
        ...

    def restart(self) -> None:
        """Begin new means."""
        ...

    def state(self) -> dict[str, Any]:
        """What goes on from batch to batch, but for the networks: tensors and plain data."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a `state`."""
        ...


class RunningMeans:
    """Means of named numbers, over all that was added since the last `restart`."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        self._sums, self._counts = dict.fromkeys(self._names, 0.0), dict.fromkeys(self._names, 0)

    def add(self, **values: float) -> None:
        """Add a number to each of these means."""
        for name, value in values.items():
            self._sums[name] += value
            self._counts[name] += 1

    def means(self) -> dict[str, float | None]:
        """By name; None: nothing was added."""
        return {
            name: self._sums[name] / self._counts[name] if self._counts[name] else None
            for name in self._names
        }

    def state(self) -> dict[str, Any]:
        """As plain data."""
        return {"sums": dict(self._sums), "counts": dict(self._counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a `state`."""
        self._sums, self._counts = dict(state["sums"]), dict(state["counts"])
