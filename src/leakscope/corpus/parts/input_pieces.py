"""What the reading of inputs is cut into: ranges of bytes, row groups, or whole inputs."""

from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from leakscope.corpus.parts.json_blocks import line_start
from leakscope.corpus.readers.byte_lines import compression_of
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import objects
from leakscope.corpus.readers.row_values import require_columns, wanted_columns
from leakscope.corpus.readers.table import arrow_errors

COLUMNAR = ("jsonl", "parquet")
"""Formats that are read as columns and in pieces; the others are read row by row."""


@dataclass(frozen=True)
class InputPiece:
    """A part of one input: bytes `start` to `stop` of a JSONL file, whose lines that begin there it
    has, or these row groups of a Parquet file.
    """

    input: int
    start: int
    stop: int
    format: str


def pieces_of_input(
    path: Path, place: int, format: str, how: InputSettings, size: int
) -> list[InputPiece] | None:
    """An input in pieces of about `size` bytes; None: it has to be read from its beginning to its
    end. Raise if it lacks a column.
    """
    if format == "parquet":
        bounds = _row_groups(path, how, size)
    elif format == "jsonl" and compression_of(path) is None:
        _require_keys(path, how)
        bounds = _line_starts(path, size)
    else:
        return None
    return [InputPiece(place, start, stop, format) for start, stop in pairwise(bounds)]


def _line_starts(path: Path, size: int) -> list[int]:
    """Where pieces of whole lines begin, and the end: a huge line is gone through once, and not
    again for every piece that would begin within it.
    """
    whole = path.stat().st_size
    bounds = [0]
    with path.open("rb") as file:
        while bounds[-1] + size < whole:
            bounds.append(line_start(file, bounds[-1] + size))
    return bounds if bounds[-1] == whole else [*bounds, whole]


def _row_groups(path: Path, how: InputSettings, size: int) -> list[int]:
    """Where pieces of whole row groups begin, and the number of row groups."""
    with (
        arrow_errors(path, "Parquet"),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        require_columns(path, file.schema_arrow.names, how)
        metadata, wanted = file.metadata, set(wanted_columns(how))
        bounds, held = [0], 0
        for group in range(metadata.num_row_groups):
            columns = (metadata.row_group(group).column(c) for c in range(metadata.num_columns))
            held += sum(
                column.total_uncompressed_size
                for column in columns
                if column.path_in_schema.split(".")[0] in wanted
            )
            if held >= size:
                bounds, held = [*bounds, group + 1], 0
        count = metadata.num_row_groups
        return bounds if bounds[-1] == count else [*bounds, count]


def _require_keys(path: Path, how: InputSettings) -> None:
    """Raise unless the first record has the wanted keys."""
    with closing(objects(path)) as records:
        first = next((record for record in records if isinstance(record, dict)), None)
    if first is not None:
        require_columns(path, list(first), how)
