"""The beginning of an input of `corpus build`, as a file of the same format."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from leakscope.corpus.readers.byte_lines import MAX_RECORD, compression_of, open_bytes
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.row_values import require_columns
from leakscope.corpus.readers.table import arrow_errors
from leakscope.records.artifacts import private_directory

ROWS = 1000
"""Rows of a Parquet file that are copied at a time."""


@dataclass(frozen=True)
class InputSample:
    """A file with the beginning of an input."""

    path: Path
    share: float
    """Of the input; 1: it is the input itself."""


def sample_of(
    path: Path, format: str, how: InputSettings, size: int, folder: Path
) -> InputSample | None:
    """About the first `size` bytes of an input, uncompressed, in `folder` under the input's name;
    the input itself if it is no larger. None: inputs of this format cannot be cut.
    """
    if path.is_dir() or format not in ("parquet", *_ENDS):
        return None
    copy = private_directory(folder) / path.name
    if format == "parquet":
        return _rows(path, how, size, copy)
    with open_bytes(path) as stream:
        head = stream.read(size)
        if len(head) < size:
            return InputSample(path, 1.0)
        head += stream.readline(MAX_RECORD)
        if not stream.read(1):
            return InputSample(path, 1.0)
    head = head[: _ENDS[format](head) or len(head)]
    packed = _packed(path, head)
    copy.touch(mode=0o600)
    copy.write_bytes(packed)
    return InputSample(copy, min(1.0, len(packed) / path.stat().st_size))


def _rows(path: Path, how: InputSettings, size: int, copy: Path) -> InputSample:
    """The first rows of a Parquet file, in row groups as large as its own."""
    with (
        arrow_errors(path, "Parquet"),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        require_columns(path, file.schema_arrow.names, how)
        batches, taken, held = file.iter_batches(batch_size=ROWS, use_threads=False), [], 0
        while held < size and (batch := next(batches, None)) is not None:
            taken.append(batch)
            held += batch.nbytes
        rows, metadata = sum(batch.num_rows for batch in taken), file.metadata
        if rows >= metadata.num_rows:
            return InputSample(path, 1.0)
        of_group = max(1, metadata.num_rows // max(1, metadata.num_row_groups))
        copy.touch(mode=0o600)
        pq.write_table(pa.Table.from_batches(taken), copy, row_group_size=of_group)
    return InputSample(copy, rows / metadata.num_rows)


def _packed(path: Path, data: bytes) -> bytes:
    """Compressed as the input is."""
    how = compression_of(path)
    if how == "zst":
        return zstandard.ZstdCompressor().compress(data)
    return data if how is None else gzip.compress(data, 6)


def _end_of_line(head: bytes) -> int:
    return head.rfind(b"\n") + 1


def _end_of_row(head: bytes) -> int:
    """Behind a line end that stands outside of quotes."""
    end, whole = len(head), head.count(b'"')
    while (at := head.rfind(b"\n", 0, end)) >= 0:
        whole -= head.count(b'"', at, end)
        if whole % 2 == 0:
            return at + 1
        end = at
    return 0


def _end_of_letter(head: bytes) -> int:
    return head.rfind(b"\n\nFrom ") + 2 if b"\n\nFrom " in head else 0


_ENDS: dict[str, Callable[[bytes], int]] = {
    "jsonl": _end_of_line,
    "reddit": _end_of_line,
    "csv": _end_of_row,
    "mbox": _end_of_letter,
}
"""Where the last whole record ends, by format; 0: nowhere."""
