"""From squared norms to the factor of each user's gradient."""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.methods import METHODS

Weighting = Literal["mean", "sum"]
"""A user's loss: the mean over all its words in the step, or the sum. With the mean one clip
fits users with little and with much text, and the norm does not grow with the words that a user
may give; with the sum, users with little text count less.
"""

ALONE = 100.0
"""The norm above which a user is taken alone. Gradients explode where the network amplifies its own
rounding, which depends on who shares a product of matrices: then one user's absence would turn what
others add. Ordinary norms are far below. docs/experiments.md has the measurements.
"""


class NotFiniteError(Exception):
    """A gradient in a group of users is beyond any number."""


def check_choices(method: str, clip: float) -> None:
    """Refuse a method that there is not and a clip that bounds nothing."""
    if method not in METHODS:
        raise LeakscopeError(f"The method is one of {', '.join(METHODS)}.")
    if not 0 < clip < float("inf"):
        raise LeakscopeError("The clip is a finite number above 0.")


def check_weights(weights: Iterable[Tensor]) -> None:
    """Where a gradient is not finite: raise if the weights are to blame, which tell of nobody, as
    they are noisy already. Otherwise one user's text is, and that user contributes nothing: that
    is within the clip, while to stop would tell of the user with certainty.
    """
    if not all(bool(torch.isfinite(weight).all()) for weight in weights):
        raise LeakscopeError(
            "The weights are not finite; lower the learning rate or begin with other weights."
        )


def shares_of(words: LongArray, weighting: Weighting) -> Tensor:
    """[k] what a user's summed loss is multiplied with, float64."""
    counts = torch.from_numpy(words).double()
    return 1 / counts if weighting == "mean" else torch.ones_like(counts)


def explode(norms: Tensor) -> Tensor:
    """[k] which users must be taken alone, by their own norms and nobody else's."""
    return norms > ALONE


def factors_of(squared: Tensor, shares: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """From the squared norms [k] of the gradients of summed losses: the norms [k] of the users'
    gradients, and the factors [k] that make clipped gradients of the former. All float64.
    """
    norms = squared.sqrt() * shares
    if not bool(torch.isfinite(norms).all()):
        raise NotFiniteError
    # clip / norm, at most one; a gradient of zero stays as it is.
    return norms, shares * clip / norms.clamp(min=clip)
