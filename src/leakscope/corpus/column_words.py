"""Very many words as one column: in Python, each would take several times its bytes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from leakscope.engine.spilled_array import SpilledArray

_BLOCK = 1 << 16  # words made at a time


class ColumnWords(Sequence[str]):
    """The words of a column of valid strings, made when they are asked for."""

    def __init__(self, column: pa.LargeStringArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step == 1:
                return self._column.slice(start, max(stop - start, 0)).to_pylist()
            return [self[each] for each in range(start, stop, step)]
        at = place + len(self) if place < 0 else place
        if not 0 <= at < len(self):
            raise IndexError(place)
        return self._column[at].as_py()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from self[start : start + _BLOCK]

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        """What `pyarrow.array` makes of these words: the column itself."""
        return self._column if type is None else self._column.cast(type)


class WordColumn:
    """A column of words that grows in files without names, then is read through maps."""

    def __init__(self, folder: Path) -> None:
        self._data, self._offsets = SpilledArray(folder, np.uint8), SpilledArray(folder, np.int64)
        self._offsets.append(np.zeros(1, np.int64))

    def append(self, words: pa.LargeStringArray) -> None:
        """Some more words."""
        if not len(words):
            return
        _, offsets, data = words.buffers()
        places = np.frombuffer(offsets, np.int64)[words.offset : words.offset + len(words) + 1]
        self._offsets.append(places[1:] - places[0] + len(self._data))
        if data is not None:
            self._data.append(np.frombuffer(data, np.uint8)[places[0] : places[-1]])

    def mapped(self) -> pa.LargeStringArray:
        """All words, once."""
        size = len(self._offsets) - 1
        buffers = [pa.py_buffer(each.mapped()) for each in (self._offsets, self._data)]
        return pa.LargeStringArray.from_buffers(size, *buffers)
