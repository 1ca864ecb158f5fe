"""What *unique* means: the one place that says so, for counts, tables, pages and scripts."""

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import BoolArray

MEANING = "one user alone has it in the training data"


def is_unique(users_in_d: npt.NDArray[np.integer]) -> BoolArray:
    """[n] whether sequences that so many users have in D are unique."""
    unique: BoolArray = np.equal(users_in_d, 1)
    return unique
