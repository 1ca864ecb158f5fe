"""Arrays that are too long for memory: written to disk in blocks, read through a map.

The file has no name and is private to its owner, so nothing of it outlives the process.
"""

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

LONG = 1 << 24
"""Arrays of so many values are kept in files where their memory would count."""


class SpilledArray:
    """A flat array of one type that grows at its end."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (the map outlives a block)
        weakref.finalize(self, self._file.close)  # also if an error comes before the map
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, block: npt.NDArray[Any]) -> None:
        """Write some more values."""
        self._file.write(np.ascontiguousarray(block, self._dtype).data)
        self._size += len(block)

    def close(self) -> None:
        """Give the file up, if it is no array."""
        self._file.close()

    def mapped(self) -> npt.NDArray[Any]:
        """All values, in pages that the system takes from memory when it needs room. Nothing can
        be appended any more.
        """
        with self._file:
            if not self._size:
                return np.zeros(0, self._dtype)
            self._file.flush()
            # The plain view: indexing a memmap makes memmaps, slowly.
            return np.asarray(np.memmap(self._file, self._dtype, "r+", shape=(self._size,)))


def spilled_zeros(folder: Path, dtype: npt.DTypeLike, size: int) -> npt.NDArray[Any]:
    """Zeros in such a file, to be written to at any place. The disk has room for them all: a page
    that it had none for would end the process.
    """
    if not size:
        return np.zeros(0, dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, size * np.dtype(dtype).itemsize)
        return np.asarray(np.memmap(file, dtype, "r+", shape=(size,)))


def is_long(size: int) -> bool:
    """Whether an array of so many values is better kept in a file."""
    return size >= LONG


def filled(dtype: npt.DTypeLike, size: int, value: float | bool) -> npt.NDArray[Any]:
    """An array that has `value` everywhere: in memory, or from `LONG` values on in such a file in
    the system's temporary directory.
    """
    if not is_long(size):
        return np.full(size, value, dtype) if value else np.zeros(size, dtype)
    found = spilled_zeros(Path(tempfile.gettempdir()), dtype, size)
    if value:
        found[:] = value
    return found
