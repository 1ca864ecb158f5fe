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
from leakscope.corpus.parts.giant_texts import LONGEST, giants_in_turn, is_giant
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.row_columns import SPLITS, flat
from leakscope.corpus.shard_schema import SCHEMA
from leakscope.engine.spilled_array import SpilledArray
from leakscope.engine.stages import Work
from leakscope.records.artifacts import parquet_sink
from leakscope.records.documents import IntArray

_HASHED = 8 << 20  # bytes at a time
_BLOCK = 1 << 22  # words at a time
GIANT_OPTIONS = {
    "use_dictionary": False,
    "write_statistics": [name for name in SCHEMA.names if name not in ("words", "text")],
    "data_page_version": "2.0",
}
"""How shards with huge documents are written: a dictionary, the least and the greatest value, and
the layout of pages would each take a copy of the document.
"""


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
        shard = self.plan.shards[index]
        giants = {each for group in shard for each in group if self._is_giant(each)}
        options = GIANT_OPTIONS if giants else None
        with (
            giants_in_turn(LONGEST if giants else 0),
            parquet_sink(target, SCHEMA, sealed=True, options=options) as writer,
        ):
            for group in shard:
                spill = target.parent if giants & set(group) else None
                pieces = [self._documents(each, spill) for each in group]
                if spill is not None:
                    # In as many chunks as there are pieces: joining them would copy the giant.
                    writer.write_table(pa.Table.from_batches(pieces))
                    del pieces
                    continue
                batch = pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
                del pieces
                writer.write_batch(batch)

    def _is_giant(self, place: DocumentRange) -> bool:
        """Whether a range has a huge document, which then is its only one."""
        if place.stop - place.start > 1:
            return False
        with opened_part(self.parts[place.part]) as ((part, _),):
            _, offsets = flat(part["text"].slice(place.start, 1))
            return is_giant(int(offsets[1] - offsets[0]))

    def _documents(self, place: DocumentRange, spill: Path | None) -> pa.RecordBatch:
        """The rows of a range; if there is a folder to `spill` to, their texts stay where they
        are, and their words are written there.
        """
        with opened_part(self.parts[place.part]) as ((part, _),):
            rows = part.slice(place.start, place.stop - place.start)
            lists = rows["words"]
            offsets = lists.offsets.to_numpy()
            ids = _lasting(self.final[place.part], lists.flatten().to_numpy(), spill)
            document = self.plan.first_document[place.part] + place.start
            columns = [
                pa.array(rows["user"].to_numpy() + np.int32(self.plan.first_user[place.part])),
                _string(rows["user_key"]),
                pa.array(np.arange(document, document + rows.num_rows)),
                pa.array(np.array(SPLITS, object)[rows["split"].to_numpy()], pa.string()),
                pa.ListArray.from_arrays(
                    pa.array((offsets - offsets[0]).astype(np.int32)), pa.array(ids)
                ),
                _string(rows["text"], copied=spill is None),
                *(pa.concat_arrays([rows[name]]) for name in ("input", "row")),
            ]
            return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _lasting(final: IntArray, words: IntArray, spill: Path | None) -> IntArray:
    """The lasting numbers of words; on disk, if there is a folder for that."""
    if spill is None:
        found: IntArray = final[words]
        return found
    spilled = SpilledArray(spill, np.int32)
    for start in range(0, len(words), _BLOCK):
        spilled.append(final[words[start : start + _BLOCK]])
    return spilled.mapped()


def _string(column: Any, *, copied: bool = True) -> pa.LargeStringArray:
    """A column of UTF-8, in memory of its own if it is to be `copied`."""
    data, offsets = flat(column)
    if not copied:
        return binary(data, offsets).view(pa.large_string())
    low, high = int(offsets[0]), int(offsets[-1])
    return binary(data[low:high].copy(), offsets - low).view(pa.large_string())


def corpus_digest(parts: Sequence[Path]) -> str:
    """The digest of all documents in user order, with users and splits."""
    digest = hashlib.blake2b(digest_size=16)
    names = tuple(np.frombuffer(name.encode(), np.uint8) for name in SPLITS)
    for path in parts:
        with opened_part(path) as ((part, _),):
            for rows in _small(part):
                if is_giant(_text_bytes(rows)):
                    _digest_giant(digest, rows)
                    continue
                framed = framed_documents(
                    *flat(rows["user_key"]), rows["split"].to_numpy(), names, *flat(rows["text"])
                )
                digest.update(framed)
            del part, rows
    return digest.hexdigest()


def _text_bytes(rows: pa.RecordBatch) -> int:
    _, offsets = flat(rows["text"])
    return int(offsets[-1] - offsets[0])


def _digest_giant(digest: hashlib.blake2b, rows: pa.RecordBatch) -> None:
    """Take in the documents of a few rows as `framed_documents` lays them out, uncopied."""
    for key, split, text in zip(
        *(rows[name] for name in ("user_key", "split", "text")), strict=True
    ):
        for part in (key.as_buffer(), SPLITS[split.as_py()].encode(), text.as_buffer()):
            digest.update(b"%d:" % len(memoryview(part)))
            digest.update(part)


def _small(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A part in slices of a few megabytes."""
    _, places = flat(part["text"])
    start = 0
    while start < part.num_rows:
        stop = int(np.searchsorted(places, places[start] + _HASHED))
        stop = min(max(stop, start + 1), part.num_rows)
        yield part.slice(start, stop - start)
        start = stop
