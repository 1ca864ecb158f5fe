"""The columns of a person's sequences: those of `sequences.parquet`, and what is theirs alone."""

import pyarrow as pa

from leakscope.records.columns import PAGE, Column, Display
from leakscope.records.runs import sequence_columns

OWN: tuple[Column, ...] = (
    Column("unique", pa.bool_(), "whether nobody else has it in D"),
    Column(
        "occurrences",
        pa.int64(),
        "how often it came out of this user's documents",
        display=Display("Came out", "count", PAGE, hint="how often, in this user's documents"),
    ),
)


def person_columns(*, revealed: bool) -> tuple[Column, ...]:
    """All columns, in their order; without those that a redacted run withholds."""
    return tuple(
        column for column in (*sequence_columns.COLUMNS, *OWN) if revealed or not column.withheld
    )
