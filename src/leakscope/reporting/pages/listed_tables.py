"""The tables of `report.html`: columns from the registries, rows from the run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.records.columns import Column, Display, Place
from leakscope.records.runs import sequence_columns, user_columns
from leakscope.reporting.rows import cells
from leakscope.reporting.rows.listing import (
    SequenceRow,
    UserRow,
    first_sequences,
    gravest,
    most_exposed,
)

ROWS = 500
USERS = 15
GRAVEST = 15


@dataclass(frozen=True)
class ListedTable:
    """A table of the page: its columns, and its rows."""

    columns: list[cells.Shown]
    rows: Sequence[SequenceRow] | Sequence[UserRow]

    @staticmethod
    def of(
        rows: Sequence[SequenceRow] | Sequence[UserRow], registry: Sequence[Column], place: Place
    ) -> "ListedTable":
        """The rows with the columns that are shown in this place."""
        return ListedTable(cells.columns_for([row.values for row in rows], registry, place), rows)

    def sort_keys(self) -> list[dict[str, Any]]:
        """What the page's script sorts and filters by, for each row of a sequence."""
        keys = [each for each in self.columns if each[1].form in (*cells.NUMBERS, "mark")]
        return [
            {column.name: cells.sort_key(row.values, column, how) for column, how in keys}
            | {"unique": row.unique}
            for row in self.rows
            if isinstance(row, SequenceRow)
        ]


def sequences_table(run: Path, *, revealed: bool) -> ListedTable:
    """The first sequences of a run, unique ones first."""
    rows = first_sequences(run, ROWS, revealed=revealed)
    return ListedTable.of(rows, sequence_columns.COLUMNS, "page")


def users_table(run: Path, *, revealed: bool) -> ListedTable:
    """The users most exposed."""
    rows = most_exposed(run, USERS, revealed=revealed)
    return ListedTable.of(rows, user_columns.COLUMNS, "page")


def gravest_table(run: Path, *, revealed: bool) -> ListedTable:
    """What to look at first."""
    rows = gravest(run, GRAVEST, revealed=revealed)
    return ListedTable.of(rows, sequence_columns.COLUMNS, "gravest")


def cell(row: SequenceRow | UserRow, column: Column, how: Display) -> str:
    """A value as a cell of the page shows it; a bound stays on one line."""
    found = cells.text(row.values, column, how)
    return found.replace(" ", "\u00a0") if how.form == "bound" else found
