"""Prefixes with one entry more, and the best of them so far, in memory and in files."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from leakscope.records.documents import FloatArray, LongArray
from leakscope.updates.score_rule import Floats

FOUND = pa.schema(
    [
        ("rows", pa.int64()),
        ("entries", pa.int64()),
        ("old", pa.float64()),
        ("new", pa.float64()),
        ("scores", pa.float64()),
    ]
)
STATE = FOUND.append(pa.field("settled", pa.bool_()))


class Extensions(NamedTuple):
    """Prefixes with one entry more, in the order of prefix and entry."""

    rows: LongArray
    entries: LongArray
    old: FloatArray
    new: FloatArray
    """Probabilities of the entry."""
    scores: Floats
    """Of the whole sequence."""

    def at(self, places: LongArray) -> "Extensions":
        """Those at some places."""
        return Extensions(
            self.rows[places],
            self.entries[places],
            self.old[places],
            self.new[places],
            self.scores[places],
        )

    @staticmethod
    def joined(parts: "list[Extensions]") -> "Extensions":
        """Several, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        return Extensions(*map(np.concatenate, zip(*parts, strict=True)))

    def batch(self) -> pa.RecordBatch:
        """For a file."""
        return pa.record_batch(
            [pa.array(each).cast(kind.type) for each, kind in zip(self, FOUND, strict=True)],
            schema=FOUND,
        )

    @staticmethod
    def of(table: pa.Table) -> "Extensions":
        """From a file."""
        return Extensions(*(table[name].to_numpy().copy() for name in FOUND.names))


def nothing() -> Extensions:
    """No extensions."""
    none, scores = np.zeros(0, np.float32), np.zeros(0)
    return Extensions(np.zeros(0, np.int64), np.zeros(0, np.int64), none, none, scores)


class BestSoFar:
    """The `width` greatest of all extensions that were offered."""

    def __init__(self, width: int) -> None:
        self._width, self._kept, self._waiting = width, list[Extensions](), 0
        self.bar = -np.inf
        """What a score must exceed to be among them."""

    def offer(self, found: Extensions) -> None:
        """Some more, which come after all that were offered before."""
        self._kept.append(found)
        self._waiting += len(found.scores)
        if self._waiting >= 2 * self._width:
            self._prune()

    def _prune(self) -> None:
        found = Extensions.joined(self._kept)
        found = found.at(np.argsort(-found.scores, kind="stable")[: self._width])
        self._kept, self._waiting = [found], 0
        if len(found.scores) == self._width:
            self.bar = float(found.scores[-1])

    def state(self) -> pa.RecordBatch:
        """All that offering more depends on; see `restored`."""
        found = Extensions.joined(self._kept) if self._kept else nothing()
        settled = np.arange(len(found.scores)) < len(found.scores) - self._waiting
        return pa.record_batch([*found.batch().columns, pa.array(settled)], schema=STATE)

    @classmethod
    def restored(cls, width: int, state: pa.Table) -> "BestSoFar":
        """As it was when it told its state, bar and all: what is offered next is looked at as it
        would have been.
        """
        best, found = cls(width), Extensions.of(state)
        settled = int(state["settled"].to_numpy().sum())
        best._kept, best._waiting = [found], len(found.scores) - settled
        if settled == width:
            best.bar = float(found.scores[settled - 1])
        return best

    def best(self) -> Extensions:
        """Those that are left, greatest first."""
        self._prune()
        return self._kept[0]
