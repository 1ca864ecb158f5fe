"""Ragged bytes in another order, compiled."""

from typing import Any

import numpy as np

from leakscope.engine.compiled import compiled


@compiled()
def gathered(data: Any, starts: Any, ends: Any) -> Any:
    """Pieces of `data` one after the other, and where each begins [n + 1]."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for row in range(len(starts)):
        offsets[row + 1] = offsets[row] + ends[row] - starts[row]
    values = np.empty(offsets[-1], np.uint8)
    for row in range(len(starts)):
        values[offsets[row] : offsets[row + 1]] = data[starts[row] : ends[row]]
    return values, offsets
