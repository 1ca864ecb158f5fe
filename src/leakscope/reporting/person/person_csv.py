"""`person.csv`: a person's sequences for a spreadsheet, in which no cell can act as a formula."""

import csv
import io
import json
from typing import Any

import numpy as np

from leakscope.records.columns import Column
from leakscope.records.runs.person_columns import person_columns
from leakscope.records.runs.person_record import PersonRecord

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell must not begin with: spreadsheets would compute it, or run it."""


def person_csv(record: PersonRecord) -> str:
    """A header and a line for each sequence. A last column says through which interface, if there
    is one: its title does so even where nothing came out. It begins with a byte order mark,
    without which spreadsheets take it for another encoding than UTF-8.
    """
    columns = person_columns(revealed=record.revealed)
    if record.sequences:  # runs of an earlier version have fewer
        columns = tuple(column for column in columns if column.name in record.sequences[0])
    target = io.StringIO()
    # Quoted, a cell stays one wherever semicolons separate cells, too.
    writer = csv.writer(target, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    titles, behind = [column.name for column in columns], []
    if record.interface is not None:
        titles, behind = [*titles, f"through an interface that {record.interface}"], ["yes"]
    writer.writerow(titles)
    for row in record.sequences:
        writer.writerow([*(_cell(row[column.name], column) for column in columns), *behind])
    return "\ufeff" + target.getvalue()


def _cell(value: Any, column: Column) -> str | int | float:
    """Numbers as numbers; words with spaces between them; lists of lists as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _numbers(value)  # type: ignore[no-any-return]
    return neutral(_text(value, column))


def _text(value: Any, column: Column) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        kinds = column.display is not None and column.display.form == "kinds"
        return (", " if kinds else " ").join(value)
    return value if isinstance(value, str) else json.dumps(_numbers(value), ensure_ascii=False)


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float:
    """With no more digits than a number of 32 bits has, if that is what it comes from."""
    return float(str(np.float32(value))) if float(np.float32(value)) == value else value


def neutral(text: str) -> str:
    """Text that a spreadsheet shows and does not compute: an apostrophe stands before what would
    begin a formula.
    """
    return f"'{text}" if text.startswith(FORMULAS) else text
