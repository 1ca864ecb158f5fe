"""What *unique* means: the one place that says so, for counts, tables, pages and scripts."""

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import BoolArray

MOST_USERS = 1
"""A sequence that more users have in D is not unique."""
HELD_BY = "only one user has"
"""The definition in words, for sentences about sequences that HELD_BY in the training data."""


def is_unique(users_in_d: npt.NDArray[np.integer]) -> BoolArray:
    """[n] which sequences are unique, by the number of distinct users who have each in D.

    What is longer has no more users, so parts of what is not unique are not unique either.
    """
    unique: BoolArray = (users_in_d >= 1) & (users_in_d <= MOST_USERS)
    return unique
