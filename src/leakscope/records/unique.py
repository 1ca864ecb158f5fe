"""What *unique* means, and how far a unique sequence is from what anybody would say: the one place
that says so, for counts, tables, pages and scripts.
"""

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


def extremeness(lengths: npt.ArrayLike, ratios: npt.ArrayLike | None) -> npt.NDArray[np.float64]:
    """[n] the length alone; or, with a public model, the logarithm of how many times more probable
    the whole sequence is to this model than to that one: the ratio to the power of its words.
    """
    words = np.asarray(lengths, np.float64)
    if ratios is None:
        return words
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = words * np.log(np.asarray(ratios, np.float64))
    found: npt.NDArray[np.float64] = np.nan_to_num(logs, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return found
