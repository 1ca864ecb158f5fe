"""The vocabulary entries of documents' words, as labels and as what a network reads."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscope.engine.spilled_array import filled, is_long
from leakscope.models.ranking.score_sheet import Labels
from leakscope.models.ranking.windows import Window
from leakscope.records.documents import IntArray, LongArray

BLOCK = 1 << 20
"""Words of a huge document that are looked up at a time."""


@dataclass(frozen=True)
class EntriesOnDemand:
    """`Labels` that are looked up where they are asked for: 8 bytes less for each word."""

    ids: IntArray
    lookup: Callable[[IntArray], LongArray]
    """From lexicon ids to entries."""

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, places: LongArray | slice) -> LongArray:
        return self.lookup(self.ids[places])


def entries_on_demand(ids: IntArray, lookup: Callable[[IntArray], LongArray]) -> Labels:
    """The entries of words: an array, or for huge documents what looks them up."""
    return EntriesOnDemand(ids, lookup) if is_long(len(ids)) else lookup(ids)


def inputs_of(
    offsets: LongArray, labels: Labels, batch: list[Window], unknown: int, mark: int
) -> npt.NDArray[np.integer]:
    """[n, t] what a network reads for a batch of windows on documents that have `labels` from
    `offsets` on, padded by `unknown`. For a huge one, it is in a file and in four bytes a word.
    """
    width = max(window.stop - window.first for window in batch)
    size = len(batch) * width
    kind = np.int32 if is_long(size) else np.int64
    inputs = filled(kind, size, unknown).reshape(len(batch), width)
    for row, (document, first, _, stop) in enumerate(batch):
        offset = int(offsets[document])
        low, high = offset + max(first - 1, 0), offset + stop - 1
        column = stop - first - (high - low)
        for start in range(low, high, BLOCK):
            said = labels[start : min(start + BLOCK, high)]
            inputs[row, column : column + len(said)] = said
            column += len(said)
        if first == 0:
            inputs[row, 0] = mark
    return inputs
