"""What an update gives away, on a terminal."""

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leakscope.records.artifacts import read_parquet
from leakscope.records.updates.diff_record import DiffReport
from leakscope.reporting.facts.values import ABSENT, printable
from leakscope.reporting.pages.diff_page import SCORE_COLUMNS, summary
from leakscope.reporting.terminal.plain_tables import plain_table

LISTED = 10
"""Sequences of each length that are listed."""
TITLES = {
    "score": "Score",
    "total_in_old": "In old",
    "total_in_new": "In new",
    "users_in_difference": "Users in difference",
}


def update_lines(report: DiffReport, out: Path) -> RenderableType:
    """The summary, the best sequences of each length, and given ones."""
    parts: list[RenderableType] = [Text(printable(summary(report)))]
    rows = read_parquet(out / "found.parquet").to_pylist()
    for length in sorted({row["length"] for row in rows}, reverse=True):
        parts.append(_table(length, [row for row in rows if row["length"] == length][:LISTED]))
    scores = read_parquet(out / "scores.parquet").to_pylist()
    if scores:
        parts.append(plain_table(SCORE_COLUMNS, scores))
    return Group(*parts)


def _table(length: int, rows: list[dict[str, object]]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", title_justify="left", title_style="bold")
    table.title = Text(f"Length {length}")
    table.add_column("Sequence", overflow="fold", min_width=24)
    for title in TITLES.values():
        table.add_column(title, justify="right")
    table.add_column("Belongs to")
    for row in rows:
        words, owned = row["words"], row["one_user"]
        spelled = " ".join(words) if isinstance(words, list) else "■ " * length
        mine = row["user"] or "one user" if owned else ABSENT if owned is None else ""
        cells = [f"{row['score']:.3f}", *(_cell(row[name]) for name in list(TITLES)[1:])]
        table.add_row(Text(printable(spelled.strip())), *cells, Text(printable(str(mine))))
    return table


def _cell(value: object) -> str:
    return ABSENT if value is None else f"{value:,}"
