"""The weight of a privacy loss, the lambda of Mireshghallah et al. (2021), and how it grows."""

import math

from leakscope.records.errors import LeakscopeError


def weight_at(epochs: float, weight: float, warmup: float) -> float:
    """The weight after so many epochs; it grows linearly over the first `warmup` of them."""
    return weight if epochs >= warmup else weight * epochs / warmup


def check_terms(weight: float, warmup: float, users_per_batch: int | None) -> None:
    """Refuse what no regularizer can be told."""
    if not (0 <= weight < math.inf and 0 <= warmup < math.inf):
        raise LeakscopeError("The privacy weight and its warm-up must be finite and not negative.")
    if users_per_batch is not None and users_per_batch < 1:
        raise LeakscopeError("The users per batch must be at least 1.")
