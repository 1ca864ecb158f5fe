"""Flat numbers as Arrow arrays and lists."""

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[tuple[int], np.dtype[np.generic]]


def nullable(values: Numbers) -> pa.Array:
    """Numbers, null where they are not known: some endpoints tell no probabilities."""
    return pa.array(values, from_pandas=True)


def lists(offsets: pa.Array, values: Numbers) -> pa.ListArray:
    """Row i has the values offsets[i] to offsets[i + 1]."""
    return pa.ListArray.from_arrays(offsets, nullable(values))
