"""Where planted rows are written, in the format and with the columns that the data came with."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.records.artifacts import parquet_sink, whole_file
from leakscope.records.errors import LeakscopeError

ROWS = 50_000
"""Rows of a Parquet row group."""


class RowSink(Protocol):
    """Takes rows in their order."""

    def old(self, raw: Any) -> None:
        """A row as it came."""
        ...

    def new(self, values: Mapping[str, Any]) -> None:
        """A planted row, by columns; the other columns stay empty."""
        ...


class _JsonLines:
    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def old(self, raw: Any) -> None:
        self._handle.write(raw if isinstance(raw, bytes) else _encoded(raw))
        self._handle.write(b"\n")

    def new(self, values: Mapping[str, Any]) -> None:
        self._handle.write(_encoded(values) + b"\n")


def _encoded(values: Mapping[str, Any]) -> bytes:
    return json.dumps(dict(values), ensure_ascii=False).encode()


class _Parquet:
    """Runs of rows are kept as slices of the batches that they came in."""

    def __init__(self, schema: pa.Schema, writer: pq.ParquetWriter) -> None:
        self._schema, self._writer = schema, writer
        self._parts: list[pa.RecordBatch] = []
        self._count = 0
        self._run: tuple[pa.RecordBatch, int, int] | None = None

    def old(self, raw: Any) -> None:
        batch, index = raw
        if self._run is not None and self._run[0] is batch and self._run[2] == index:
            self._run = (batch, self._run[1], index + 1)
            return
        self._end_run()
        self._run = (batch, index, index + 1)

    def new(self, values: Mapping[str, Any]) -> None:
        self._end_run()
        columns = [_single(field, values.get(field.name)) for field in self._schema]
        self._add(pa.record_batch(columns, schema=self._schema))

    def flush(self) -> None:
        """Write what was taken so far."""
        self._end_run()
        if self._parts:
            self._writer.write_table(pa.Table.from_batches(self._parts, self._schema))
        self._parts, self._count = [], 0

    def _end_run(self) -> None:
        if self._run is not None:
            batch, start, stop = self._run
            self._run = None
            self._add(batch.slice(start, stop - start))

    def _add(self, part: pa.RecordBatch) -> None:
        self._parts.append(part)
        self._count += part.num_rows
        if self._count >= ROWS:
            self.flush()


def _single(field: pa.Field, value: Any) -> pa.Array:
    """A column of one row."""
    if value is None:
        if not field.nullable:
            raise LeakscopeError(
                f"The column {field.name} must not be empty, but a planted row has only a user and "
                "a text; give data without that column."
            )
        return pa.nulls(1, field.type)
    try:
        if pa.types.is_dictionary(field.type):
            plain = pa.array([value], field.type.value_type)
            return pa.DictionaryArray.from_arrays(pa.array([0], field.type.index_type), plain)
        return pa.array([value], field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise LeakscopeError(
            f"The column {field.name} takes no text such as that of a canary's user; give data "
            "whose users are texts, or plant without --coins user."
        ) from None


@contextmanager
def row_sink(path: Path, schema: pa.Schema | None) -> Iterator[RowSink]:
    """A sink for the file `path`, which appears when it is complete: Parquet of this schema, or
    JSONL where there is none.
    """
    if schema is None:
        with whole_file(path) as partial, partial.open("wb") as handle:
            yield _JsonLines(handle)
        return
    with parquet_sink(path, schema) as writer:
        sink = _Parquet(schema, writer)
        yield sink
        sink.flush()
