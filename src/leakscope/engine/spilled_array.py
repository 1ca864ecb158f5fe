"""Arrays that are too long for memory: written to disk in blocks, read through a map.

The file has no name and is private to its owner, so nothing of it outlives the process.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


class SpilledArray:
    """A flat array of one type that grows at its end."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (the map outlives a block)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, block: npt.NDArray[Any]) -> None:
        """Write some more values."""
        self._file.write(np.ascontiguousarray(block, self._dtype).data)
        self._size += len(block)

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
