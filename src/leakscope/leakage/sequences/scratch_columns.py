"""Arrays as long as S: in files without a name, so that memory holds only what is being read, and
nothing is left of them when the process ends.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

ROWS_AT_ONCE = 1 << 20
"""How much of such an array is worked on at a time."""


class ScratchColumn:
    """Grows by `append`, then is an array that can be written to."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 (`array` closes it)
        self._dtype = np.dtype(dtype)
        self._size = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        """Some more values."""
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._size += len(values)

    def array(self) -> npt.NDArray[Any]:
        """All values, once; the system reads and drops pages of them as it needs to."""
        with self._file as file:
            file.flush()
            if not self._size:
                return np.zeros(0, self._dtype)
            return np.asarray(np.memmap(file, self._dtype, "r+", shape=(self._size,)))

    def close(self) -> None:
        """Give the file up, if it is no array."""
        self._file.close()


@contextmanager
def scratch_columns(
    folder: Path, types: Mapping[str, npt.DTypeLike]
) -> Iterator[dict[str, ScratchColumn]]:
    """Columns of these types by name, which are to become arrays within the block."""
    columns: dict[str, ScratchColumn] = {}
    try:
        for name, kind in types.items():
            columns[name] = ScratchColumn(folder, kind)
        yield columns
    finally:
        for column in columns.values():
            column.close()


def scratch_array(folder: Path, dtype: npt.DTypeLike, size: int) -> npt.NDArray[Any]:
    """Zeros in a file, for which there is room on the disk: a page without any would end the
    process when it is written to.
    """
    if not size:
        return np.zeros(0, dtype)
    with TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size * np.dtype(dtype).itemsize)
        return np.asarray(np.memmap(file, dtype, "r+", shape=(size,)))


def slices_of(size: int, rows: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """All of `size` rows, some at a time."""
    for low in range(0, size, rows):
        yield slice(low, min(low + rows, size))
