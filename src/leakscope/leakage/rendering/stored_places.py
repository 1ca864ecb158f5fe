"""Where the occurrences of a finished run stand: as many numbers as S has, so they are in files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.sequences.scratch_columns import scratch_columns
from leakscope.records.artifacts import damaged
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.runs.occurrence_columns import occurrences_schema
from leakscope.records.tables.table_batches import table_batches

_TYPES = {"sequence": np.int32, "document": np.int64, "start": np.int32, "length": np.int32}


@dataclass(frozen=True)
class StoredPlaces:
    """The o occurrences of S in corpus order."""

    sequences: IntArray
    """[o] the id of each one's sequence."""
    documents: LongArray
    starts: IntArray
    lengths: IntArray

    @staticmethod
    def of(path: Path, sequences: int, scratch: Path) -> "StoredPlaces":
        """Those of an `occurrences.parquet` with so many `sequences`, in files without a name in
        `scratch`. Raise if one is of no sequence.
        """
        with scratch_columns(scratch, _TYPES) as columns:
            for rows in table_batches(path, occurrences_schema(), [*_TYPES]):
                _require_possible(rows, sequences, path)
                for name, column in columns.items():
                    column.append(rows[name].to_numpy())
            return StoredPlaces(*(column.mapped() for column in columns.values()))


def _require_possible(rows: pa.Table, sequences: int, path: Path) -> None:
    if any(rows[name].null_count for name in _TYPES):
        raise damaged(path)
    numbers = rows["sequence"].to_numpy()
    if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= sequences:
        raise damaged(path)
