"""States as a regularizer sees them: in coordinates in which no direction is large or small."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MOMENTUM = 0.005
"""How much a batch counts in the running mean and covariance, once there were 200."""
ANEW, FIRST = 8, 64
"""The map to new coordinates is made in each of the first 64 batches, and then in every 8th: the
covariance hardly moves in between, and a factorization takes longer than all else here."""
RIDGE = 1e-3
"""Added to every variance, as a share of their mean: directions that hardly occur stay finite."""
LEAST = 1e-3
"""Added to the variance of a coordinate over a batch, which is about 1."""


class Whitening:
    """Whitens states by a running mean and covariance, which count as constants: over the last few
    hundred batches, every direction has a variance of about 1.
    """

    def __init__(self) -> None:
        self._batches, self._mean, self._covariance = 0, torch.zeros(0), torch.zeros(0, 0)
        self._map = torch.zeros(0, 0)

    def __call__(self, states: Tensor) -> Tensor:
        """[n, h] float, of states [n, h], which the running figures learn from first."""
        states = states.float()
        self._learn(states.detach())
        if self._batches <= FIRST or not self._batches % ANEW:
            self._map = self._mapped()
        whitened: Tensor = (states - self._mean) @ self._map.to(states.device)
        return whitened

    def _learn(self, states: Tensor) -> None:
        if not self._batches:
            width = states.shape[1]
            self._mean, self._covariance = torch.zeros(width), torch.zeros(width, width)
        self._batches += 1
        share = max(MOMENTUM, 1 / self._batches)
        self._mean = self._mean.to(states.device).lerp(states.mean(0), share)
        apart = states - self._mean
        covariance = self._covariance.to(states.device)
        self._covariance = covariance.lerp(apart.T @ apart / len(states), share)

    def _mapped(self) -> Tensor:
        """[h, h] by which centred states are multiplied: the inverse of the Cholesky factor."""
        variances = self._covariance.diagonal()
        raised = self._covariance + torch.diag(variances.mean().expand_as(variances) * RIDGE + 1e-9)
        # Without a check: states that are not finite give a loss that is not, which is reported.
        factor = torch.linalg.cholesky_ex(raised).L
        unit = torch.eye(len(raised), device=raised.device)
        found: Tensor = torch.linalg.solve_triangular(factor, unit, upper=False).T.contiguous()
        return found

    def state(self) -> dict[str, Any]:
        """The running figures, to go on from."""
        return {
            "whitened_batches": self._batches,
            "whitening_mean": self._mean,
            "whitening_covariance": self._covariance,
            "whitening_map": self._map,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a `state`."""
        self._batches, self._mean = state["whitened_batches"], state["whitening_mean"]
        self._covariance, self._map = state["whitening_covariance"], state["whitening_map"]


def standardized(states: Tensor) -> Tensor:
    """States [n, h] with mean 0 and variance 1 in each coordinate over the batch. The gradient goes
    through both, so it never asks for smaller states: they would give the same.
    """
    centred = states - states.mean(0)
    return centred / (centred.square().mean(0) + LEAST).sqrt()
