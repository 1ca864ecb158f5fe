"""Parquet row groups as columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.parts.python_rows import usable_rows
from leakscope.corpus.parts.row_columns import ReadTally, parts_named, usable
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.row_values import wanted_columns
from leakscope.corpus.readers.table import BATCH, arrow_errors, checked_column, rows_of_batch


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
        for batch in file.iter_batches(
            batch_size=BATCH, row_groups=groups, columns=wanted_columns(how), use_threads=False
        ):
            for column in batch.columns:
                column.validate()  # damaged offsets would be read outside of their buffers
            waiting.append(batch)
            held += batch.nbytes
            if held >= size:
                yield _joined(waiting)
                waiting, held = [], 0
        if waiting:
            yield _joined(waiting)


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
