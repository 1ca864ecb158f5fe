"""Where the documents of a shard come from: the columns `input` and `row`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.manifest import OriginFile
from leakscope.corpus.readers.rows import Origin
from leakscope.corpus.shard_bounds import ShardBounds, untrue
from leakscope.corpus.shard_schema import ORIGIN
from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.documents import IntArray, LongArray

_UNKNOWN = -1


@dataclass(frozen=True)
class ShardOrigins:
    """The origins of n documents whose numbers follow each other."""

    first: int
    """The number of the first document."""
    inputs: IntArray
    """[n] places among the `origins` of the corpus; below 0: not known."""
    rows: LongArray
    """[n] counted from 1."""

    def of(self, document: int) -> Origin | None:
        """Where a document of the shard comes from; None: that is not known."""
        input = int(self.inputs[document - self.first])
        return None if input < 0 else Origin(input, int(self.rows[document - self.first]))


def read_origins(path: Path, bounds: ShardBounds, *, checked: bool) -> ShardOrigins:
    """The origins in a shard; those in a shard of an earlier version are not known. Raise if one
    names a file that the manifest does not list.
    """
    reader = open_parquet(path, checked=checked)
    first, count = bounds.documents[0], reader.metadata.num_rows
    if ORIGIN[0] not in reader.schema_arrow.names:
        return ShardOrigins(first, np.full(count, _UNKNOWN, np.int32), np.zeros(count, np.int64))
    try:
        table = reader.read(columns=["document", *ORIGIN])
    except (pa.ArrowException, OSError):
        raise damaged(path) from None
    if not np.array_equal(table["document"].to_numpy(), np.arange(first, first + count)):
        raise untrue(path, "has documents that are out of order")
    input, row = (table[name] for name in ORIGIN)
    inputs = pc.fill_null(input, _UNKNOWN).to_numpy().astype(np.int32)
    rows = pc.fill_null(row, 0).to_numpy().astype(np.int64)
    known = inputs != _UNKNOWN
    if (known != (rows != 0)).any() or (rows < 0).any():
        raise untrue(path, "has documents with half an origin")
    if (inputs >= bounds.origins).any() or (inputs < _UNKNOWN).any():
        raise untrue(path, "has documents from files that the manifest does not list")
    return ShardOrigins(first, inputs, rows)


def origin_names(files: list[OriginFile]) -> list[str]:
    """What each file is called: its name, and its number as well where names repeat."""
    times = Counter(file.name for file in files)
    return [
        file.name if times[file.name] == 1 else f"{file.name} (input {number})"
        for number, file in enumerate(files, 1)
    ]
