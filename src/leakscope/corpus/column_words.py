"""Very many words as one column: in Python, each would take several times its bytes."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import pyarrow as pa

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
