"""The last stage of a build: the shards, with the lasting numbers of words, users and documents."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from leakscope.corpus.building.number_stage import binary
from leakscope.corpus.building.shard_kernels import framed_documents
from leakscope.corpus.building.shard_plan import DocumentRange, ShardPlan
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.row_columns import SPLITS, flat
from leakscope.corpus.shard_schema import SCHEMA
from leakscope.engine.stages import Work
from leakscope.records.artifacts import parquet_sink
from leakscope.records.documents import IntArray

_HASHED = 8 << 20  # bytes at a time


@dataclass(frozen=True)
class ShardStage:
    """Writes shards."""

    parts: tuple[Path, ...]
    plan: ShardPlan
    final: Sequence[IntArray]
    """For each part, the lasting number of each word of its own lexicon."""
    name: ClassVar[str] = "write shards"
    reads_outputs: ClassVar[bool] = True

    def start(self) -> Work:
        """See `Stage`."""
        return self._write

    def _write(self, index: int, target: Path) -> None:
        with parquet_sink(target, SCHEMA, sealed=True) as writer:
            for group in self.plan.shards[index]:
                pieces = [self._documents(each) for each in group]
                batch = pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
                del pieces
                writer.write_batch(batch)

    def _documents(self, place: DocumentRange) -> pa.RecordBatch:
        """The rows of a range."""
        with opened_part(self.parts[place.part]) as ((part, _),):
            rows = part.slice(place.start, place.stop - place.start)
            lists = rows["words"]
            offsets = lists.offsets.to_numpy()
            ids = self.final[place.part][lists.flatten().to_numpy()]
            document = self.plan.first_document[place.part] + place.start
            columns = [
                pa.array(rows["user"].to_numpy() + np.int32(self.plan.first_user[place.part])),
                _string(rows["user_key"]),
                pa.array(np.arange(document, document + rows.num_rows)),
                pa.array(np.array(SPLITS, object)[rows["split"].to_numpy()], pa.string()),
                pa.ListArray.from_arrays(
                    pa.array((offsets - offsets[0]).astype(np.int32)), pa.array(ids)
                ),
                _string(rows["text"]),
                *(pa.concat_arrays([rows[name]]) for name in ("input", "row")),
            ]
            return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _string(column: Any) -> pa.LargeStringArray:
    """A column of UTF-8 in memory of its own."""
    data, offsets = flat(column)
    low, high = int(offsets[0]), int(offsets[-1])
    return binary(data[low:high].copy(), offsets - low).view(pa.large_string())


def corpus_digest(parts: Sequence[Path]) -> str:
    """The digest of all documents in user order, with users and splits."""
    digest = hashlib.blake2b(digest_size=16)
    names = tuple(np.frombuffer(name.encode(), np.uint8) for name in SPLITS)
    for path in parts:
        with opened_part(path) as ((part, _),):
            for rows in _small(part):
                framed = framed_documents(
                    *flat(rows["user_key"]), rows["split"].to_numpy(), names, *flat(rows["text"])
                )
                digest.update(framed)
            del part, rows
    return digest.hexdigest()


def _small(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A part in slices of a few megabytes."""
    _, places = flat(part["text"])
    start = 0
    while start < part.num_rows:
        stop = int(np.searchsorted(places, places[start] + _HASHED))
        stop = min(max(stop, start + 1), part.num_rows)
        yield part.slice(start, stop - start)
        start = stop
