"""Write a run's tables again with other values in the columns that a redacted run withholds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from leakscope.records.artifacts import damaged, open_parquet, parquet_sink
from leakscope.records.columns import Column

Fill = Callable[[pa.Table, int], dict[str, pa.Array]]
"""From some consecutive rows, and the place of the first, to the values of withheld columns."""


def rewrite(source: Path, target: Path, registry: Sequence[Column], fill: Fill) -> None:
    """Write the table `source` as `target`, row group by row group, with the withheld columns of
    its registry as `fill` gives them and every other column as it is.
    """
    reader, done = open_parquet(source), 0
    withheld = {column.name for column in registry if column.withheld}
    # As the registry names the parts of lists, for the same bytes; older runs have fewer columns.
    types = {column.name: column.type for column in registry}
    schema = pa.schema(
        [(each.name, types.get(each.name, each.type)) for each in reader.schema_arrow]
    )
    with parquet_sink(target, schema) as writer:
        for group in range(reader.num_row_groups):
            try:
                rows = reader.read_row_group(group).cast(schema)
            except (pa.ArrowException, OSError):
                raise damaged(source) from None
            values = fill(rows, done)
            done += len(rows)
            arrays = [
                values[name] if name in withheld else rows[name] for name in rows.column_names
            ]
            writer.write_table(pa.table(arrays, schema=schema))


def redacted(registry: Sequence[Column]) -> Fill:
    """Nulls, as in a redacted run."""

    def nothing(rows: pa.Table, _: int) -> dict[str, pa.Array]:
        return {
            column.name: pa.nulls(len(rows), column.type) for column in registry if column.withheld
        }

    return nothing
