"""Columns of tables: what each holds, and how it is shown on the page, the terminal and in the
browser. A table's registry is a tuple of these; everybody who writes or shows it asks there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from leakscope.records.artifacts import damaged

Form = Literal["words", "count", "number", "rate", "bound", "shortest", "mark", "kinds"]
"""`words`: a list of words. `count`: a whole number. `number`: one with digits after the point.
`rate`: a small one, in two digits. `bound`: a count that may be an upper bound. `shortest`: the
least of a list. `mark`: the title, where the value is true. `kinds`: a list of names."""
Place = Literal["page", "terminal", "gravest"]
"""`page`: the table of the page, with its sorting. `terminal`: the table that commands print.
`gravest`: the page's list of what to look at first."""
PAGE: tuple[Place, ...] = ("page",)
EVERYWHERE: tuple[Place, ...] = ("page", "terminal", "gravest")


@dataclass(frozen=True)
class Display:
    """How a column is shown."""

    title: str
    form: Form
    places: tuple[Place, ...] = ("page", "terminal")
    short: str = ""
    """The title on a terminal, where there is little room; empty: the same."""
    hint: str = ""
    """What the title means, for whoever points at it."""
    rising: bool = False
    """Whether sorting begins with the least."""
    optional: bool = False
    """Left out where no row has a value."""
    exact: str = ""
    """Of a bound: the column that says whether it is exact."""
    instead: str = ""
    """Of a bound, on a terminal: the column that bounds it where it was not measured."""


@dataclass(frozen=True)
class Column:
    """One column of a table on disk."""

    name: str
    type: pa.DataType
    meaning: str
    """For `docs/files.md`, one line."""
    withheld: bool = False
    """Null in a redacted run."""
    unique_only: bool = False
    """Null where the row has no unique sequence, and where it was not measured."""
    by_occurrence: bool = False
    """A list with a value for each listed occurrence, whosesoever it is."""
    display: Display | None = None
    """None: it is in the file only."""


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of a table with these columns."""
    return pa.schema([(column.name, column.type) for column in columns])


def check_columns(path: Path, table: pa.Table, schema: pa.Schema, names: Sequence[str]) -> None:
    """Raise unless the table, read from `path`, has these columns, with the types of the schema."""
    for name in names:
        known = name in table.column_names
        if not known or table.schema.field(name).type != schema.field(name).type:
            raise damaged(path)


def shown_in(columns: Sequence[Column], place: Place) -> list[tuple[Column, Display]]:
    """The columns that are shown in a place, each with how."""
    return [
        (column, column.display)
        for column in columns
        if column.display is not None and place in column.display.places
    ]
