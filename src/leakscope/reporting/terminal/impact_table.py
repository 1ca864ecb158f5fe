"""Disparate impact on a terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leakscope.reporting.comparison import impact_section
from leakscope.reporting.comparison.disparate_impact import Comparison
from leakscope.reporting.facts.values import printable


def impact_table(found: Comparison, size: int) -> RenderableType:
    """How much worse users with many and with few documents are served than by the plain model."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", title_justify="left", title_style="bold")
    table.title = Text(f"Disparate impact against {printable(found.baseline)}")
    table.add_column("Model", overflow="fold", min_width=12)
    for title in impact_section.columns(size):
        table.add_column(title, justify="right")
    for name, cells in impact_section.table_rows(found, size):
        table.add_row(Text(printable(name)), *map(Text, cells))
    lines = [impact_section.READING, *impact_section.notes(found, size)]
    return Group(table, *(Text(printable(line), style="dim") for line in lines))
