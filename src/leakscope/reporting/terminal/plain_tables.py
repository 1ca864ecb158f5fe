"""Tables of plain rows for a terminal, with the columns that a page shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from leakscope.reporting.facts.values import printable
from leakscope.reporting.pages.canary_page import shown


def plain_table(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Rows under the titles of their columns."""
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for number, title in enumerate(columns.values()):
        table.add_column(title, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(printable(shown(row[name]))) for name in columns))
    return table
