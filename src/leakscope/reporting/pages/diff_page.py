"""`diff.html`: what an update of a model gives away."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from leakscope.records.artifacts import write_text
from leakscope.records.updates.diff_record import DiffReport, FoundSequence, ScoredSequence
from leakscope.reporting.facts.values import ABSENT
from leakscope.reporting.pages.canary_page import shown
from leakscope.reporting.pages.document import render
from leakscope.reporting.svg.canary_figures import PointWithInterval, by_repetitions

LISTED = 50
"""Sequences of each length that the page lists; the table has all."""
SCORE_COLUMNS = {
    "number": "Number",
    "state": "State",
    "frequency": "Frequency",
    "repetitions": "Repetitions",
    "length": "Words",
    "score": "Score",
    "relative_score": "Relative score",
    "rank": "Rank",
    "rank_method": "Rank is",
    "reason": "Missing, because",
}


class Chip(NamedTuple):
    """One word or token of a sequence, with its probability before and after."""

    text: str
    old: str
    new: str
    level: int
    """How far it has risen: 0 to 4."""


def summary(report: DiffReport) -> str:
    """What it all means, in a sentence or two."""
    metrics = report.metrics
    if metrics.found is None:
        return "Nothing was searched for; given sequences were scored."
    said = (
        f"Someone who has both models finds {metrics.found:,} sequences whose probability has "
        f"risen, without any training data; the greatest score is {metrics.best_score:.3f}."
    )
    if metrics.one_user_found is None:
        return f"{said} Whose they are is not known, because no corpus was given."
    return (
        f"{said} {metrics.in_difference_found:,} of them stand in the text that was added, and "
        f"{metrics.one_user_found:,} belong to one person alone ({metrics.users_found:,} people)."
    )


def write_diff_page(
    report: DiffReport,
    found: Sequence[FoundSequence],
    scored: Sequence[ScoredSequence],
    path: Path,
) -> None:
    """Write `diff.html`."""
    lengths = sorted({row.length for row in found}, reverse=True)
    lists = [
        (length, [_row(row) for row in found if row.length == length][:LISTED])
        for length in lengths
    ]
    rows = [row.model_dump() for row in scored]
    page = render(
        "diff.html",
        report=report,
        summary=summary(report),
        leaks=bool(report.metrics.one_user_found),
        lists=lists,
        counted=report.metrics.one_user_found is not None,
        figures=_figures(scored),
        columns=SCORE_COLUMNS,
        scores=rows,
        facts=_facts(report),
        shown=shown,
    )
    write_text(path, page)


def _row(row: FoundSequence) -> dict[str, Any]:
    spelled = row.entries or ["■"] * row.length
    chips = [
        Chip(text, _probability(old), _probability(new), _level(new - old))
        for text, old, new in zip(spelled, row.old, row.new, strict=True)
    ]
    owner = ABSENT if row.one_user is None else "one user" if row.one_user else ""
    return {
        "place": row.place,
        "score": f"{row.score:.3f}",
        "chips": chips,
        "text": None if row.words is None else " ".join(row.words),
        "counts": [
            ABSENT if total is None else f"{total:,} ({users:,})"
            for total, users in (
                (row.total_in_old, row.users_in_old),
                (row.total_in_new, row.users_in_new),
                (row.total_in_difference, row.users_in_difference),
            )
        ],
        "owner": row.user if row.one_user and row.user is not None else owner,
        "one": bool(row.one_user),
    }


def _probability(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 0.005 else f"{value:.0e}".replace("e-0", "e-")


def _level(rise: float) -> int:
    return sum(rise >= bar for bar in (0.05, 0.25, 0.5, 0.75))


def _figures(scored: Sequence[ScoredSequence]) -> list[tuple[str, str, Markup]]:
    """The mean score of planted canaries by repetitions, for each class of frequency."""
    series: list[tuple[str, list[PointWithInterval]]] = []
    planted = [row for row in scored if row.state == "planted" and row.score is not None]
    for frequency in dict.fromkeys(row.frequency or "any" for row in planted):
        mine = [row for row in planted if (row.frequency or "any") == frequency]
        points = []
        for times in sorted({row.repetitions or 0 for row in mine}):
            scores = [row.score or 0.0 for row in mine if (row.repetitions or 0) == times]
            mean = sum(scores) / len(scores)
            points.append(PointWithInterval(times, max(mean, 0.0), min(scores), max(scores)))
        series.append((frequency, points))
    if not series:
        return []
    drawn = by_repetitions("scores", "Score by repetitions", "differential score", series[:6])
    reading = "Mean over the planted canaries of a class, with the least and the greatest."
    return [("Differential score by repetitions", reading, drawn)]


def _facts(report: DiffReport) -> list[tuple[str, str]]:
    chosen = report.settings
    kind = "relative, floor {floor:g}" if chosen["relative"] else "difference of probabilities"
    facts = [
        ("old model", report.old.name),
        ("new model", report.new.name),
        ("score", kind.format(floor=chosen["floor"])),
        ("attacker sees", "all probabilities" if chosen["top_k"] is None
         else f"the top {chosen['top_k']}"),
        ("followed at each length", ", ".join(f"{width:,}" for width in report.widths) or ABSENT),
        ("groups", str(chosen["groups"])),
        ("known before", str(chosen["prefix"]) or "nothing"),
        ("looked for", "what was deleted" if chosen["deleted"] else "what was added"),
    ]  # fmt: skip
    if report.entries is not None:
        facts.insert(4, (f"{report.unit} to choose from", f"{report.entries:,}"))
    return facts
