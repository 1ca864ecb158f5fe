"""How much a word counts for a sequence: the rise of its probability from one model to the next
(Zanella-Béguelin et al. 2020, definition 3.1).
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from leakscope.records.errors import LeakscopeError

Floats = npt.NDArray[np.float64]
Probabilities = TypeVar("Probabilities", Floats, Tensor)

FLOOR = 1e-6


@dataclass(frozen=True)
class ScoreRule:
    """The terms that a sequence's score is the sum of."""

    relative: bool = False
    """Divide each rise by the old probability, which counts as `floor` at least."""
    floor: float = FLOOR
    top_k: int | None = None
    """The attacker sees so many of the most probable entries; the others count as 0. None: all."""

    def __post_init__(self) -> None:
        if not 0 < self.floor <= 1:
            raise LeakscopeError("--floor is a probability: above 0 and at most 1.")
        if self.top_k is not None and self.top_k < 1:
            raise LeakscopeError("--top-k must be at least 1.")

    def terms(self, old: Probabilities, new: Probabilities) -> Probabilities:
        """What entries with these probabilities add to a score."""
        rises = new - old
        if self.relative:
            rises = rises / old.clip(min=self.floor)
        return rises

    @property
    def most(self) -> float:
        """No term is greater than this times the new probability, nor than this."""
        return 1 / self.floor if self.relative else 1.0

    def seen(self, probabilities: Tensor) -> Tensor:
        """What the attacker sees of probabilities [m, v]: those in the top k of their row, greater
        first and equal ones by lower entry.
        """
        if self.top_k is None or self.top_k >= probabilities.shape[1]:
            return probabilities
        order = probabilities.sort(dim=1, descending=True, stable=True).indices[:, : self.top_k]
        found = torch.zeros_like(probabilities)
        return found.scatter_(1, order, probabilities.gather(1, order))
