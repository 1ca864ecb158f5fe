"""Which rows of a layer's inputs and errors are whose."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.ragged import offsets_of

SLACK = 1.5
"""The most rows of a user for each row of another one in the same band; docs/experiments.md."""


class EqualLengths(NamedTuple):
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


class Band(NamedTuple):
    """Consecutive users that have about equally many rows: in a batched product those with fewer
    have rows of their own twice, which are not to be counted.
    """

    rows: slice
    """Of all these users, among the m rows."""
    length: int
    """The most rows of a user."""
    taken: Tensor
    """[users * length] rows, counted from the first of the band."""
    surplus: Tensor
    """[users, length, length] whether either of two rows is not to be counted."""

    def of(self, rows: Tensor) -> Tensor:
        """[m, w] rows to this band's [users, length, w], a copy."""
        return rows[self.rows].index_select(0, self.taken).view(-1, self.length, rows.shape[1])


class Layout:
    """m rows, those of k users one after the other; users with fewer rows come first."""

    def __init__(self, lengths: LongArray, device: torch.device | None = None) -> None:
        """`lengths`: rows of each user, ascending, none of them 0; `device`: where they are."""
        self.lengths, self._device = lengths, device
        self.users, self.rows = len(lengths), int(lengths.sum())
        self._bands: dict[int, list[Band]] = {}

    @cached_property
    def runs(self) -> list[EqualLengths]:
        """The users in runs of equal length."""
        lengths, first = np.unique(self.lengths, return_index=True)
        ends = [*first[1:].tolist(), self.users]
        found, row = [], 0
        for length, begin, end in zip(lengths.tolist(), first.tolist(), ends, strict=True):
            stop = row + (end - begin) * length
            found.append(EqualLengths(slice(begin, end), slice(row, stop), length))
            row = stop
        return found

    def bands(self, users: int) -> list[Band]:
        """The first `users` users, who are whole runs, in bands: for narrow rows a few larger
        products cost less than one for each length, although there is more to multiply.
        """
        if users not in self._bands:
            self._bands[users] = self._make_bands(users)
        return self._bands[users]

    def _make_bands(self, users: int) -> list[Band]:
        found: list[list[EqualLengths]] = []
        for run in self.runs:
            if run.users.start >= users:
                break
            if found and run.length <= SLACK * found[-1][0].length:
                found[-1].append(run)
            else:
                found.append([run])
        return [self._band(runs) for runs in found]

    def _band(self, runs: list[EqualLengths]) -> Band:
        lengths, length = self.lengths[runs[0].users.start : runs[-1].users.stop], runs[-1].length
        starts = offsets_of(lengths)[:-1]
        column = np.arange(length)
        index = starts[:, None] + np.minimum(column, lengths[:, None] - 1)
        surplus = column >= lengths[:, None]
        either = surplus[:, :, None] | surplus[:, None, :]
        rows = slice(runs[0].rows.start, runs[-1].rows.stop)
        return Band(rows, length, self._tensor(index.ravel()), self._tensor(either))

    @cached_property
    def owners(self) -> Tensor:
        """[m] the user of each row."""
        return self._tensor(np.repeat(np.arange(self.users), self.lengths))

    @cached_property
    def starts(self) -> Tensor:
        """[k] the first row of each user."""
        return self._tensor(offsets_of(self.lengths)[:-1])

    def _tensor(self, values: LongArray | BoolArray) -> Tensor:
        return torch.from_numpy(values).to(self._device)
