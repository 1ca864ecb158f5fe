"""Which rows of a layer's inputs and errors are whose."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray


class Run(NamedTuple):
    """Consecutive users that have equally many rows, so that one batched product serves all."""

    users: slice
    """Among the k users."""
    rows: slice
    """Of all these users, among the m rows."""
    length: int
    """Rows of each user."""

    def of(self, rows: Tensor) -> Tensor:
        """[m, w] rows to this run's [users, length, w], without a copy."""
        return rows[self.rows].view(-1, self.length, *rows.shape[1:])


class Layout:
    """m rows, those of k users one after the other; users with fewer rows come first."""

    def __init__(self, lengths: LongArray, device: torch.device | None = None) -> None:
        """`lengths`: rows of each user, ascending, none of them 0; `device`: where they are."""
        self.lengths, self._device = lengths, device
        self.users, self.rows = len(lengths), int(lengths.sum())

    @cached_property
    def runs(self) -> list[Run]:
        """The users in runs of equal length."""
        lengths, first = np.unique(self.lengths, return_index=True)
        ends = [*first[1:].tolist(), self.users]
        found, row = [], 0
        for length, begin, end in zip(lengths.tolist(), first.tolist(), ends, strict=True):
            stop = row + (end - begin) * length
            found.append(Run(slice(begin, end), slice(row, stop), length))
            row = stop
        return found

    @cached_property
    def owners(self) -> Tensor:
        """[m] the user of each row."""
        return self._tensor(np.repeat(np.arange(self.users), self.lengths))

    @cached_property
    def starts(self) -> Tensor:
        """[k] the first row of each user."""
        return self._tensor(np.cumsum(self.lengths) - self.lengths)

    def _tensor(self, values: LongArray) -> Tensor:
        return torch.from_numpy(values).to(self._device)
