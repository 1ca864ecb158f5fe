"""Tables for a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from leakscope.records.runs import sequence_columns
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.comparison.compared_table import cell, columns_of, missing
from leakscope.reporting.facts import guarantee, guarantees, headline, values
from leakscope.reporting.facts.fact import Fact
from leakscope.reporting.facts.interface_facts import notes, through
from leakscope.reporting.pages import harden_page as hardening
from leakscope.reporting.rows import cells
from leakscope.reporting.rows.listing import SequenceRow, gravest

LENGTHS = 12  # shown one by one in the compact line of lengths


def run_table(
    manifest: RunManifest, metrics: Metrics, named: Mapping[int, str] | None = None
) -> RenderableType:
    """The headline numbers of one run. What is unmeasured shows a dash and why. `named` as in
    `headline.leakage`.
    """
    table = Table(box=SIMPLE_HEAD, show_header=False, title_justify="left", title_style="bold")
    table.title = Text(f"Training data leakage of {values.printable(manifest.name)}")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    of_public = () if manifest.public is None else manifest.public.warnings
    for warning in (*metrics.warnings, *of_public):
        table.add_row(Text("Warning"), Text(values.printable(warning), style="bold yellow"))
    for notice in metrics.notices:
        table.add_row(Text("Notice"), Text(values.printable(notice), style="bold yellow"))
    if metrics.interface is not None:
        table.add_row(Text("Interface"), Text(f"not the bare model: one that {metrics.interface}"))
    for label, text in (
        ("Users", values.thousands(metrics.users)),
        *_audited(metrics),
        ("Documents", values.thousands(metrics.documents)),
        ("Words", values.thousands(metrics.words)),
        ("Suggestions seen (top-k)", values.thousands(metrics.top_k)),
    ):
        table.add_row(Text(label), Text(text))
    table.add_section()
    _facts(table, headline.extent(metrics)[:3])
    table.add_section()
    _facts(table, headline.leakage(metrics, named)[:4])
    table.add_row(Text("Unique by length"), Text(by_length(metrics)))
    _facts(table, headline.leakage(metrics, named)[4:])
    if manifest.public is not None:
        name = f"{manifest.public.name} ({manifest.public.kind})"
        table.add_row(Text("Public model"), Text(values.printable(name)))
    table.add_section()
    _privacy(table, guarantee.guarantee_of(manifest))
    table.add_section()
    _facts(table, [*headline.quality(metrics), headline.extent(metrics)[3]])
    return table


def _audited(metrics: Metrics) -> list[tuple[str, str]]:
    """How many users were audited, where it was not all."""
    return [] if metrics.audited is None else [("Audited", values.thousands(metrics.asked.users))]


def compare_table(
    rows: Sequence[Mapping[str, Any]], warnings: Sequence[str] = ()
) -> RenderableType:
    """Table 2 of Inan et al. (2021) and some columns more; `rows` are those of `compare_rows`."""
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    table.add_column("Model", overflow="fold", min_width=12)
    columns = columns_of(rows)
    for title in columns.values():
        table.add_column(title, justify="right")
    for row in rows:
        cells = [Text(cell(row, column)) for column in columns]
        table.add_row(Text(values.printable(row["name"])), *cells)
    remarks = [
        *(f"{values.ABSENT} {line}" for line in missing(rows)),
        *(f"DP accountant: {line}" for line in guarantees.accountants(rows)),
        *(f"Not covered by DP: {line}" for line in guarantees.caveats(rows)),
    ]
    return Group(
        *(Text(values.printable(f"Warning: {line}"), style="bold yellow") for line in warnings),
        table,
        *(Text(values.printable(line), style="dim") for line in remarks),
    )


def sequences_table(path: Path, limit: int) -> RenderableType:
    """The first unique sequences of the run at `path`: words if it is revealed, else lengths."""
    manifest, metrics = open_run(path)
    rows = gravest(path, limit, revealed=manifest.revealed)
    if not rows:
        return Text("There are no unique sequences.")
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    columns = cells.columns_for([row.values for row in rows], sequence_columns.COLUMNS, "terminal")
    marked = [each for each in columns if each[1].form == "mark"]
    columns = [each for each in columns if each[1].form != "mark"]
    for _, how in columns:
        words = how.form == "words"
        table.add_column(
            how.short or how.title,
            justify="left" if words else "right",
            overflow="fold" if words else "ellipsis",
        )
    table.add_column("", justify="right")
    for row in rows:
        shown = [
            _spelled(row) if how.form == "words" else Text(cells.text_or_bound(row.values, at, how))
            for at, how in columns
        ]
        table.add_row(*shown, Text(", ".join(cells.marks(row.values, marked)), style="dim"))
    left = metrics.unique_sequences - len(rows)
    if left <= 0:
        return table
    rest = f"{values.plural(left, 'more unique sequence')} in sequences.parquet"
    return Group(table, Text(rest, style="dim"))


def hardening_table(points: Sequence[Mapping[str, Any]]) -> RenderableType:
    """What stricter interfaces leave; `points` are the rows of `harden.json`."""
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for title in hardening.COLUMNS.values():
        table.add_column(title, justify="right")
    for point in points:
        table.add_row(*(hardening.cell(point, column) for column in hardening.COLUMNS))
    return table


def suggestion_tables(found: Mapping[str, Any]) -> RenderableType:
    """The action list of `leakscope suggest`."""
    total = found["unique_sequences"]
    if not total:
        nothing = "There are no unique sequences: nothing to do."
        return Text(through(found["interface"], nothing))
    documents = _actions(
        "Remove or rewrite documents", "Document", "File", "Row", "User", "Unique", "Gone so far"
    )
    for row in found["documents"]:
        gone = f"{values.thousands(row['gone_so_far'])} of {values.thousands(total)}"
        documents.add_row(
            str(row["document"]),
            *_origin(row["file"], row["row"]),
            _named(row["user"]),
            values.thousands(row["sequences"]),
            gone,
        )
    users = _actions(
        "Review users", "User", "Unique", "Largest ratio", "Least context", "Looks like"
    )
    for row in found["users"]:
        ratio, least = row["largest_ratio"], row["least_context"]
        users.add_row(
            _named(row["user"]),
            values.thousands(row["unique_sequences"]),
            values.ABSENT if ratio is None else values.rounded(ratio),
            values.ABSENT if least is None else values.thousands(least),
            ", ".join(row["pii"]),
        )
    copies = _actions("Collapse copies", "Sequence", "Words", "User", "Times", "Documents")
    for row in found["copies"]:
        spelled = None if row["words"] is None else " ".join(row["words"][:12])
        copies.add_row(
            Text(f"#{row['sequence']}" if spelled is None else values.printable(spelled)),
            values.thousands(row["length"]),
            _named(row["user"]),
            values.thousands(row["times"]),
            values.thousands(row["documents"]),
        )
    remarks = [
        f"All unique sequences come out of "
        f"{values.plural(found['documents_for_all'], 'document')}. Unique sequences that their "
        f"user wrote three times or more: {values.thousands(found['copied_sequences'])}; "
        "leakscope corpus clean --documents exact --sentences exact removes copies of whole "
        "documents and of longer sentences.",
        *([] if found["without_origins"] is None else [found["without_origins"]]),
        "Removing all documents of a user removes all of that user's unique sequences.",
        "All of this takes effect when the model is trained again; other sequences may come out "
        "then.",
    ]
    behind = [f"{label}. {line}" for label, line in notes(found["interface"])]
    return Group(
        *(Text(line, style="bold yellow") for line in behind),
        documents,
        users,
        copies,
        *(Text(remark, style="dim") for remark in remarks),
    )


def _named(who: int | str) -> Text:
    """A user by number or by key."""
    return Text(values.printable(str(who)))


def _origin(file: int | str | None, row: int | None) -> tuple[Text, str]:
    """A file, by number or by name, and a row."""
    if file is None or row is None:
        return Text(values.ABSENT), values.ABSENT
    name = f"input {file}" if isinstance(file, int) else file
    return Text(values.printable(name)), values.thousands(row)


def _actions(title: str, *columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", title=title, title_justify="left")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def by_length(metrics: Metrics) -> str:
    """How many unique sequences of each length, on one line."""
    if not metrics.unique_by_length:
        return "none"
    lengths = sorted(metrics.unique_by_length.items())
    shown = [f"{length}: {values.thousands(number)}" for length, number in lengths[:LENGTHS]]
    rest = sum(number for _, number in lengths[LENGTHS:])
    if rest:
        shown.append(f"longer: {values.thousands(rest)}")
    return "  ".join(shown)


def _facts(table: Table, facts: Sequence[Fact]) -> None:
    for fact in facts:
        grave = fact.name == "unique_sequences" and fact.value != "0"
        table.add_row(Text(fact.label), Text(fact.text, style="bold red" if grave else ""))


def _privacy(table: Table, found: guarantee.Guarantee) -> None:
    for label, line in guarantee.stamps(found):
        table.add_row(Text(label), Text(line, style="bold yellow"))
    _facts(table, [guarantee.fact(found)])
    if found.record is None:
        return
    for label, text in guarantee.details(found.record):
        table.add_row(Text(label), Text(text))
    for at, caveat in enumerate(guarantee.caveats(found.record)):
        table.add_row(Text("" if at else "Not covered by DP"), Text(caveat, style="dim"))


def _spelled(row: SequenceRow) -> Text:
    if row.words is None:
        return Text("▇" * min(row.length, 24), style="dim")
    more = " …" if row.length > len(row.words) else ""
    return Text(values.printable(" ".join(row.words)) + more)
