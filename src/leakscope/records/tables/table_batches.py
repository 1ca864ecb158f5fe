"""Read a table of ours some rows at a time, so that no more of it is in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.columns import check_columns

ROWS = 1 << 16


def table_batches(
    path: Path, schema: pa.Schema, names: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """The columns `names`, which must be there as the schema has them, and those of the `optional`
    ones that there are; a table without rows at first.
    """
    reader = open_parquet(path)
    known = reader.schema_arrow.empty_table()
    asked = [*names, *(name for name in optional if name in known.column_names)]
    check_columns(path, known, schema, asked)
    yield known.select(asked)
    try:
        for batch in reader.iter_batches(batch_size=ROWS, columns=asked):
            yield pa.Table.from_batches([batch]).select(asked)
    except (pa.ArrowException, OSError):
        raise damaged(path) from None
