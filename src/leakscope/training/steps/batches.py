"""Training batches: pieces of documents of like length, in an order drawn for each epoch."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import within_rows
from leakscope.training.steps.spilled_text import marked_text

POOL = 64  # batches sorted by length together: little padding, and still well mixed


class Batch(NamedTuple):
    """One step's worth of text; n pieces, t positions at most, m positions in all."""

    inputs: Tensor
    """[n, t] entries, padded at the end with entry 0, which nothing looks at."""
    places: Tensor
    """[m] the positions of `inputs`, flattened, that hold text."""
    labels: Tensor
    """[m] the entry that follows each."""


class TrainingText:
    """The training entries as one long array, and the pieces that it is cut into."""

    def __init__(
        self,
        entries: IntArray | LongArray,
        offsets: LongArray,
        mark: int,
        max_words: int,
        scratch: Path | None = None,
    ) -> None:
        documents = len(offsets) - 1
        # Each document becomes: mark, words, mark. Inputs are all but the last, labels all but
        # the first.
        self._text = marked_text(entries, offsets, mark, scratch)
        begins = offsets[:-1] + 2 * np.arange(documents)
        sizes = np.diff(offsets) + 1
        counts = -(-sizes // max_words)
        nth = within_rows(counts)
        self._starts = np.repeat(begins, counts) + nth * max_words
        self._sizes = np.minimum(np.repeat(sizes, counts) - nth * max_words, max_words)
        self._documents = np.repeat(np.arange(documents), counts)

    def documents_of(self, pieces: LongArray) -> LongArray:
        """[n] the number of the document that each piece was cut from."""
        found: LongArray = self._documents[pieces]
        return found

    def sizes_of(self, pieces: LongArray) -> LongArray:
        """[n] how many predictions each piece gives."""
        found: LongArray = self._sizes[pieces]
        return found

    @property
    def words(self) -> int:
        """Predictions in one epoch, document ends included."""
        return int(self._sizes.sum())

    def steps(self, batch_size: int) -> int:
        """Steps in one epoch."""
        return -(-len(self._sizes) // batch_size)

    def order(self, batch_size: int, rng: np.random.Generator) -> list[LongArray]:
        """The pieces of each step of an epoch."""
        pieces = rng.permutation(len(self._sizes))
        pool = batch_size * POOL
        by_length = [
            part[np.argsort(self._sizes[part], kind="stable")]
            for part in np.split(pieces, range(pool, len(pieces), pool))
        ]
        joined = np.concatenate(by_length)
        batches = np.split(joined, range(batch_size, len(joined), batch_size))
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, pieces: LongArray, sizes: LongArray | None = None) -> Batch:
        """The text of some pieces; `sizes`: so many predictions from the beginning of each."""
        sizes = self._sizes[pieces] if sizes is None else sizes
        columns = np.arange(sizes.max())
        here = columns < sizes[:, None]
        at = np.where(here, self._starts[pieces][:, None] + columns, 0)
        inputs = torch.from_numpy(np.where(here, self._text[at], 0).astype(np.int64))
        places = torch.from_numpy(np.flatnonzero(here))
        labels = torch.from_numpy(self._text[at[here] + 1].astype(np.int64))
        return Batch(inputs, places, labels)


def epoch_order(
    text: TrainingText, batch_size: int, seed: int, epoch: int, skip: int = 0
) -> Iterator[LongArray]:
    """The pieces of each step of `epoch`, beginning after `skip` steps; a function of its
    arguments alone, so a resumed training goes on with the very batch it would have had.
    """
    rng = np.random.default_rng([seed, epoch])
    yield from text.order(batch_size, rng)[skip:]
