"""Tables: CSV, Parquet, Arrow files, and the folders that `datasets.save_to_disk` writes."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.readers.byte_lines import MAX_RECORD, open_bytes
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.row_values import require_columns, row_of, wanted_columns
from leakscope.corpus.readers.rows import MALFORMED, Row
from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path

# Rows turned into Python objects at a time.
BATCH = 1024
_NO_TEXT = object()


def read_csv(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the rows below the header of a UTF-8 CSV file; an empty user is a null user."""
    csv.field_size_limit(MAX_RECORD)  # of the whole process: the csv module has no other
    with open_bytes(path) as stream:
        # utf-8-sig drops a byte order mark; row_of finds the surrogates that mark bad bytes.
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        lines = _csv_lines(path, text)
        first = next(lines, "")
        records = _csv_records(path, chain([first], lines))
        header = next(records, None)
        if header is None:
            return
        _require_commas(path, first, header, settings)
        require_columns(path, header, settings)
        user, *rest = (header.index(column) for column in wanted_columns(settings))
        for record in records:
            if len(record) != len(header):
                yield Row(None, None, MALFORMED)
            else:
                yield row_of(record[user] or None, *(record[place] for place in rest))


def _require_commas(path: Path, line: str, header: list[str], settings: InputSettings) -> None:
    """Raise if the first line has its columns between semicolons or tabs."""
    columns = set(wanted_columns(settings))
    if columns <= set(header):
        return
    for mark, named in ((";", "semicolons"), ("\t", "tabs")):
        cells = [cell.strip().strip('"') for cell in line.split(mark)]
        if columns <= set(cells) or (len(cells) > 1 and "," not in line):
            raise LeakscopeError(
                f"{path} has {named} between its columns: write it again with commas, or give the "
                "data as JSONL or Parquet."
            )


def _csv_records(path: Path, lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the records that are not blank; an empty list stands for one with stray quotes."""
    reader = csv.reader(lines, strict=True)
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "field limit" in str(error) or "field larger" in str(error):
                raise LeakscopeError(
                    f"{path} has a field over {MAX_RECORD} bytes or a quote that is never closed, "
                    f"at or before line {reader.line_num}: fix it, or give the data as JSONL or "
                    "Parquet."
                ) from error
            if "expected after" not in str(error):  # a quote left open swallows the rows after it
                raise LeakscopeError(
                    f"{path} has a quote that is never closed, at or before line "
                    f"{reader.line_num}: write it again as CSV."
                ) from error
            yield []
        else:
            if record:
                yield record


def _csv_lines(path: Path, text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_RECORD):
        if len(line) == MAX_RECORD:
            raise LeakscopeError(
                f"{path} has a line over {MAX_RECORD} bytes: take it out, or give the data as "
                "JSONL or Parquet, where a long document is set aside."
            )
        yield line


def read_parquet(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the rows of a Parquet file, reading only the columns that are wanted."""
    # A buffered read keeps a column chunk, however large its row group, out of memory.
    with (
        arrow_errors(path, "Parquet"),
        pq.ParquetFile(path, buffer_size=1 << 20, page_checksum_verification=True) as file,
    ):
        require_columns(path, file.schema_arrow.names, settings)
        names = wanted_columns(settings)
        for batch in file.iter_batches(batch_size=BATCH, columns=names, use_threads=False):
            yield from rows_of_batch(batch, settings)


def read_arrow(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the rows of an Arrow file (file or stream format) or of a saved dataset's folder."""
    for file in _dataset_files(path) if path.is_dir() else [path]:
        with arrow_errors(file, "Arrow"):
            for batch in _ipc_batches(file, settings):
                yield from rows_of_batch(batch, settings)


def _ipc_batches(path: Path, settings: InputSettings) -> Iterator[Any]:
    """Yield the record batches of an Arrow file, reading only the columns that are wanted."""
    with pa.memory_map(str(path)) as source:
        has_footer = source.read(6) == b"ARROW1"
        open_ipc = pa.ipc.open_file if has_footer else pa.ipc.open_stream
        source.seek(0)
        names = open_ipc(source).schema.names
        require_columns(path, names, settings)
        fields = sorted({names.index(column) for column in wanted_columns(settings)})
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        source.seek(0)
        reader = open_ipc(source, options=options)
        if has_footer:
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
        else:
            yield from reader


def _dataset_files(folder: Path) -> Iterator[Path]:
    """Yield the Arrow files of a saved dataset, or of each split of a saved DatasetDict."""
    if (folder / "dataset_dict.json").is_file():
        for split in _entry(folder / "dataset_dict.json", "splits"):
            yield from _dataset_files(_within(folder, str(split)))
        return
    state = folder / "state.json"
    if not state.is_file():
        raise LeakscopeError(f"{folder} has no state.json: name its .arrow files one by one.")
    for entry in _entry(state, "_data_files"):
        file = _within(folder, str(entry.get("filename") if isinstance(entry, dict) else entry))
        if not file.is_file():
            raise LeakscopeError(f"{file} is missing from the saved dataset: save it again.")
        yield file


def _within(folder: Path, name: str) -> Path:
    """Return a part of a saved dataset; raise if its name leads out of the folder."""
    part, root = folder / name, real_path(folder)
    if root not in real_path(part).parents:
        raise LeakscopeError(
            f"{folder} names a part that is not in it: save the dataset again, or name its .arrow "
            "files one by one."
        )
    return part


def _entry(path: Path, key: str) -> list[Any]:
    """Return the list that a JSON file of a saved dataset holds under `key`."""
    try:
        value = json.loads(path.read_bytes())[key]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise LeakscopeError(f"{path} is damaged: save the dataset again.") from error
    if not isinstance(value, list):
        raise LeakscopeError(f"{path} is damaged: save the dataset again.")
    return value


def rows_of_batch(batch: Any, settings: InputSettings) -> Iterator[Row]:
    """Yield the rows of a record batch; values that cannot be used spoil no others."""
    columns = [checked_column(batch.column(name)) for name in wanted_columns(settings)]
    for start in range(0, batch.num_rows, BATCH):
        yield from map(row_of, *(_values(column, start) for column in columns))


def _values(column: Any, start: int) -> list[Any]:
    part = column.slice(start, BATCH)
    part = part.dictionary_decode() if hasattr(part, "dictionary") else part
    if pa.types.is_temporal(part.type) or pa.types.is_nested(part.type):
        # Neither is a user or a text, and Python knows no dates as far as Arrow does.
        return [None if missing else _NO_TEXT for missing in part.is_null().to_pylist()]
    return list(part.to_pylist())


def checked_column(column: Any) -> Any:
    """Return a column with strings as bytes, so that an invalid one does not spoil the others.

    Damaged offsets, which would make pyarrow read outside of its buffers, raise ArrowInvalid.
    """
    column.validate()
    if pa.types.is_dictionary(column.type):
        words = _as_binary(column.dictionary)
        words.validate(full=True)
        column = pa.DictionaryArray.from_arrays(column.indices, words)
    column = _as_binary(column)
    column.validate(full=True)
    return column


def _as_binary(column: Any) -> Any:
    if pa.types.is_string(column.type):
        return column.cast(pa.binary())
    if pa.types.is_large_string(column.type):
        return column.cast(pa.large_binary())
    if pa.types.is_string_view(column.type):
        return column.cast(pa.binary_view())
    return column


@contextmanager
def arrow_errors(path: Path, kind: str) -> Iterator[None]:
    """Turn what pyarrow raises on a bad file into a LeakscopeError, also midway."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise LeakscopeError(
            f"{path} is not a {kind} file, or is damaged or cut short: write or copy it again."
        ) from error
