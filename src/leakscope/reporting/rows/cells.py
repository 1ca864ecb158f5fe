"""How values of registered columns are written, and what they are sorted by."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leakscope.records.columns import Column, Display, Place, shown_in
from leakscope.reporting.facts import values

Row = Mapping[str, Any]
"""Values by the name of their column; what an older run does not have is missing."""
Shown = tuple[Column, Display]
NUMBERS = ("count", "number", "rate", "bound", "shortest")
"""The forms that can be sorted by."""

_WRITTEN: dict[str, Callable[[Any], str]] = {
    "words": " ".join,
    "number": values.rounded,
    "rate": values.small,
}


def columns_for(rows: Sequence[Row], columns: Sequence[Column], place: Place) -> list[Shown]:
    """The columns to show in a place; optional ones only where some row has something to show."""
    write = text_or_bound if place == "terminal" else text
    return [
        (column, how)
        for column, how in shown_in(columns, place)
        if not how.optional or any(write(row, column, how) != values.ABSENT for row in rows)
    ]


def text(row: Row, column: Column, how: Display) -> str:
    """A value as people read it; a dash where there is none."""
    value = number_of(row, column, how) if how.form in NUMBERS else row.get(column.name)
    if how.form == "kinds":
        return ", ".join(value or ())
    if how.form == "mark":
        return how.title if value else ""
    if value is None:
        return values.ABSENT
    if how.form in _WRITTEN:
        return _WRITTEN[how.form](value)
    bound = how.form == "bound" and not row.get(how.exact)
    return ("≤ " if bound else "") + values.thousands(value)


def text_or_bound(row: Row, column: Column, how: Display) -> str:
    """The same; what was not measured but has a bound shows that one."""
    if how.form != "bound" or row.get(column.name) is not None or not row.get(how.instead):
        return text(row, column, how)
    return f"≤ {values.thousands(min(row[how.instead]))}"


def number_of(row: Row, column: Column, how: Display) -> Any:
    """The number that a cell shows; None where there is none."""
    value = row.get(column.name)
    return min(value or [], default=None) if how.form == "shortest" else value


def sort_key(row: Row, column: Column, how: Display) -> float | bool | None:
    """What a browser sorts or filters by: a number that JSON can hold, or whether it is marked."""
    if how.form == "mark":
        return bool(row.get(column.name))
    value = number_of(row, column, how)
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else round(float(value), 6)


def marks(row: Row, columns: Sequence[Shown]) -> list[str]:
    """The titles of the marks that a row has."""
    found = (text(row, column, how) for column, how in columns if how.form == "mark")
    return [title for title in found if title]


def kinds(row: Row, columns: Sequence[Shown]) -> list[str]:
    """The names in the row's columns of kinds."""
    return [
        name
        for column, how in columns
        if how.form == "kinds"
        for name in row.get(column.name) or ()
    ]
