"""Parquet row groups as columns."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.parts.giant_texts import LONGEST, giants_in_turn, is_giant
from leakscope.corpus.parts.python_rows import usable_rows
from leakscope.corpus.parts.row_columns import ReadTally, parts_named, usable
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.row_values import wanted_columns
from leakscope.corpus.readers.table import BATCH, arrow_errors, checked_column, rows_of_batch

_MUCH = 1 << 16  # bytes of a row; of smaller ones, a giant's worth is read in BATCHes


def parquet_batches(
    path: Path, groups: list[int], how: InputSettings, size: int
) -> Iterator[pa.RecordBatch]:
    """The wanted columns of some row groups, a run of about `size` bytes at a time."""
    with (
        arrow_errors(path, "Parquet"),
        pq.ParquetFile(path, buffer_size=1 << 20, page_checksum_verification=True) as file,
    ):
        waiting: list[pa.RecordBatch] = []
        held = 0
        for batch in _batches(file, groups, wanted_columns(how)):
            for column in batch.columns:
                column.validate()  # damaged offsets would be read outside of their buffers
            if waiting and is_giant(batch.nbytes):  # joining would copy it
                yield _joined(waiting)
                waiting, held = [], 0
            waiting.append(batch)
            held += batch.nbytes
            del batch
            if held >= size:
                yield waiting.pop() if len(waiting) == 1 else _joined(waiting)
                waiting, held = [], 0
        if waiting:
            yield _joined(waiting)


def _batches(file: pq.ParquetFile, groups: list[int], names: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups. Where they are few and huge, each comes alone: a column of
    several would grow to twice its size while it is read.
    """
    for huge, some in groupby(groups, lambda group: _is_huge(file.metadata, group)):
        with giants_in_turn(LONGEST if huge else 0):
            yield from file.iter_batches(
                batch_size=1 if huge else BATCH,
                row_groups=list(some),
                columns=names,
                use_threads=False,
            )


def _is_huge(metadata: pq.FileMetaData, group: int) -> bool:
    """Whether a row group has few rows and, in one of its columns, a giant's worth of bytes."""
    found = metadata.row_group(group)
    columns = (found.column(place) for place in range(found.num_columns))
    most = max((column.total_uncompressed_size for column in columns), default=0)
    return is_giant(most) and most > _MUCH * found.num_rows


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def rows_of_columns(
    batch: pa.RecordBatch,
    first: int,
    how: InputSettings,
    settings: BuildSettings,
    tally: ReadTally,
) -> pa.RecordBatch:
    """The usable rows of a batch, numbered from `first` on."""
    tally.records += batch.num_rows
    numbers = np.arange(first, first + batch.num_rows)
    user, *others = (batch.column(name) for name in wanted_columns(how))
    if pa.types.is_integer(user.type):
        user = user.cast(pa.large_string())
    found = [_as_bytes(column) for column in (user, *others)]
    if any(column is None for column in found):
        return usable_rows(list(rows_of_batch(batch, how)), numbers, settings, tally)
    parts = parts_named(found[2], "ascii") if len(found) > 2 else None
    return usable(found[0], found[1], parts, numbers, settings.max_characters, tally)


def _as_bytes(column: Any) -> Any:
    """A column of strings or bytes as large binary; None: its values are something else."""
    column = checked_column(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    return None
