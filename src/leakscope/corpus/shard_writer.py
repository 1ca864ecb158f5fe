"""The shard files: documents of whole users, in user order, as Parquet."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.lexicon import LexiconBuilder
from leakscope.corpus.split import TRAIN
from leakscope.records.artifacts import open_parquet, parquet_sink
from leakscope.records.documents import IntArray
from leakscope.records.ragged import offsets_of

SCHEMA = pa.schema(
    [
        ("user", pa.int32()),
        ("user_key", pa.large_string()),
        ("document", pa.int64()),
        ("split", pa.string()),
        ("words", pa.list_(pa.int32())),
        ("text", pa.large_string()),
        ("input", pa.int32()),
        ("row", pa.int64()),
    ]
)
ORIGIN = ("input", "row")
"""Columns that earlier versions did not write; null where the origin is not known."""
GROUP_DOCUMENTS = 65_536
GROUP_CHARACTERS = 32 << 20


class StoredDocument(NamedTuple):
    """One row of a shard."""

    user: int
    user_key: str
    document: int
    split: str
    ids: IntArray
    text: str
    input: int | None
    row: int | None


class ShardWriter:
    """Writes provisional shards, and counts the training words as they pass."""

    def __init__(self, folder: Path, shard_words: int, lexicon: LexiconBuilder) -> None:
        self.paths: list[Path] = []
        self._folder = folder
        self._limit = shard_words
        self._lexicon = lexicon
        self._rows: list[StoredDocument] = []
        self._characters = 0
        self._words = 0
        self._stack = ExitStack()
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._close_shard()
        else:
            self._stack.__exit__(kind, error, trace)

    def add(self, document: StoredDocument) -> None:
        """Take the next document."""
        self._rows.append(document)
        self._characters += len(document.text)
        self._words += len(document.ids)
        if len(self._rows) >= GROUP_DOCUMENTS or self._characters >= GROUP_CHARACTERS:
            self._flush()

    def close_user(self) -> None:
        """The user is complete, so a shard may end here."""
        if self._words >= self._limit:
            self._close_shard()

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            path = self._folder / f"provisional-{len(self.paths):05d}.parquet"
            self.paths.append(path)
            self._writer = self._stack.enter_context(parquet_sink(path, SCHEMA))
        training = [row for row in self._rows if row.split == TRAIN]
        if training:
            lengths = [len(row.ids) for row in training]
            users = np.repeat(np.array([row.user for row in training], np.int64), lengths)
            ids = np.concatenate([row.ids for row in training]).astype(np.int64)
            self._lexicon.count(users, ids)
        self._writer.write_batch(_batch(self._rows))
        self._rows, self._characters = [], 0

    def _close_shard(self) -> None:
        self._flush()
        self._stack.close()
        self._writer, self._words = None, 0


def _batch(rows: list[StoredDocument]) -> pa.RecordBatch:
    columns = dict(zip(StoredDocument._fields, zip(*rows, strict=True), strict=True))
    offsets = offsets_of(np.array([len(ids) for ids in columns["ids"]]))
    lists = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(np.concatenate(columns["ids"]), pa.int32())
    )
    columns["ids"] = lists
    return pa.record_batch(
        [
            pa.array(column, field.type) if column is not lists else lists
            for column, field in zip(columns.values(), SCHEMA, strict=True)
        ],
        schema=SCHEMA,
    )


def renumber(source: Path, target: Path, final: IntArray) -> None:
    """Copy a provisional shard with each word id `i` replaced by `final[i]`."""
    reader = open_parquet(source)
    with parquet_sink(target, SCHEMA) as writer:
        for group in range(reader.num_row_groups):
            table = reader.read_row_group(group)
            lists = table["words"].combine_chunks()
            ids = pa.array(final[lists.flatten().to_numpy(zero_copy_only=False)], pa.int32())
            renumbered = pa.ListArray.from_arrays(lists.offsets, ids)
            column = table.schema.get_field_index("words")
            writer.write_table(table.set_column(column, SCHEMA.field("words"), renumbered))
    source.unlink()
