"""The words of all parts in buckets, each of which fits into memory: equal words are in one."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscope.corpus.building.lexicon_kernels import note_hashes
from leakscope.corpus.building.number_stage import lexicon_part
from leakscope.corpus.building.word_runs import TYPE_BYTES
from leakscope.corpus.building.word_table import Bytes, WordTable
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.ragged_kernels import gathered
from leakscope.corpus.parts.row_columns import flat
from leakscope.engine.spilled_array import SpilledArray
from leakscope.records.documents import LongArray
from leakscope.records.ragged import offsets_of

_HASHES = 256
_SHARE = 4  # of the memory: for the words that are counted at a time


class BucketRows(NamedTuple):
    """What one bucket has of the lexicon of one part."""

    part: int
    rows: LongArray | slice
    """Their places in the part's lexicon."""
    words: tuple[Bytes, LongArray]
    counts: LongArray
    users: LongArray


class WordBuckets:
    """Sorts words into buckets by a byte of their hash; if they are few there is one bucket."""

    def __init__(self, parts: Sequence[Path], memory: int, scratch: Path) -> None:
        self._parts = parts
        self.offsets = offsets_of(np.array([_rows_in(path) for path in parts], np.int64))
        """[parts + 1] where the rows of each part begin among those of all."""
        self._hashes: npt.NDArray[np.uint8] | None = None
        self._edges = [0, _HASHES]
        most = max(1, memory // _SHARE // TYPE_BYTES)
        if self.offsets[-1] > most:
            self._hashes, types = self._hashed(scratch)
            buckets = min(-(-types // most), _HASHES)
            self._edges = np.linspace(0, _HASHES, max(1, buckets) + 1).astype(int).tolist()

    def __len__(self) -> int:
        return len(self._edges) - 1

    def rows(self, bucket: int) -> Iterator[BucketRows]:
        """The words of a bucket, part by part."""
        for part, path in enumerate(self._parts):
            rows = self.places(bucket, part)
            with opened_part(lexicon_part(path)) as ((batch, _),):
                data, offsets = flat(batch["word"])
                counts, users = batch["count"].to_numpy(), batch["users"].to_numpy()
                if not isinstance(rows, slice):
                    data, offsets = gathered(data, offsets[:-1][rows], offsets[1:][rows])
                yield BucketRows(part, rows, (data, offsets), counts[rows], users[rows])
                del batch, data, offsets, counts, users

    def places(self, bucket: int, part: int) -> LongArray | slice:
        """Where the lexicon of a part has words of a bucket."""
        if self._hashes is None or len(self) == 1:
            return slice(None)
        hashes = self._hashes[self.offsets[part] : self.offsets[part + 1]]
        low, high = self._edges[bucket], self._edges[bucket + 1]
        return np.flatnonzero((hashes >= low) & (hashes < high))

    def _hashed(self, scratch: Path) -> tuple[npt.NDArray[np.uint8], int]:
        """The hash of every row, and how many distinct words there are, by those of one hash."""
        seed = np.uint64(int.from_bytes(os.urandom(8), "big"))
        sample, found = WordTable(), SpilledArray(scratch, np.uint8)
        for path in self._parts:
            with opened_part(lexicon_part(path)) as ((batch, _),):
                data, offsets = flat(batch["word"])
                hashes = np.empty(len(offsets) - 1, np.uint8)
                note_hashes(data, offsets, seed, hashes)
                rows = np.flatnonzero(hashes == 0)
                sample.number(*gathered(data, offsets[:-1][rows], offsets[1:][rows]))
                found.append(hashes)
                del batch, data, offsets
        return found.mapped(), _HASHES * len(sample)


def _rows_in(path: Path) -> int:
    with opened_part(lexicon_part(path)) as ((batch, _),):
        return int(batch.num_rows)
