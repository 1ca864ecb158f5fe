"""Arrays as long as S, several that grow together, and what of them is worked on at a time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy.typing as npt

from leakscope.engine.spilled_array import SpilledArray

ROWS_AT_ONCE = 1 << 20
"""How much of such an array is worked on at a time."""


@contextmanager
def scratch_columns(
    folder: Path, types: Mapping[str, npt.DTypeLike]
) -> Iterator[dict[str, SpilledArray]]:
    """Columns of these types by name, which are to become arrays within the block."""
    columns: dict[str, SpilledArray] = {}
    try:
        for name, kind in types.items():
            columns[name] = SpilledArray(folder, kind)
        yield columns
    finally:
        for column in columns.values():
            column.close()


def slices_of(size: int, rows: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """All of `size` rows, some at a time."""
    for low in range(0, size, rows):
        yield slice(low, min(low + rows, size))
