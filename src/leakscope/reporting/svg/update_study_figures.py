"""Figures about updates: what insertions, extra text and trainings do to differential scores."""

from collections.abc import Sequence

from markupsafe import Markup

from leakscope.records.studies.update_study_record import UpdateRow, UpdateStudyRecord
from leakscope.reporting.facts.update_findings import by_scenario, mean_score, plainest
from leakscope.reporting.svg.canary_figures import PointWithInterval, by_repetitions
from leakscope.reporting.svg.canvas import SERIES
from leakscope.reporting.svg.group_figures import GroupValue, by_group

Figure = tuple[str, str, Markup]
"""Title, reading, drawing."""
LABEL = "differential score"
VARIED = {
    "extra": ("extra text", "share of the pool that the update adds"),
    "training": ("training", "training"),
    "top_k": ("what the attacker sees", "most probable words that the attacker sees"),
}
"""What a figure may vary: its title, and what stands below it."""


def update_figures(record: UpdateStudyRecord) -> list[Figure]:
    """For each scenario the scores by insertions, and by all that was varied."""
    found: list[Figure] = []
    for rows in by_scenario(record.rows):
        found += _insertions(plainest(rows))
        for name in VARIED:
            found += _varied(plainest(rows, free=name), name)
    return found


def _insertions(rows: Sequence[UpdateRow]) -> list[Figure]:
    series = [
        (
            frequency,
            [_point(row) for row in rows if row.frequency == frequency and row.score is not None],
        )
        for frequency in dict.fromkeys(row.frequency for row in rows)
    ]
    if not any(points for _, points in series):
        return []
    scenario = rows[0].scenario
    title = f"{scenario}: score by insertions"
    reading = (
        "Mean over the canaries of a class, with the least and the greatest. Scores below 0 are "
        "drawn as 0."
    )
    return [(title, reading, by_repetitions(f"insertions-{scenario}", title, LABEL, series))]


def _point(row: UpdateRow) -> PointWithInterval:
    value, low, high = (max(each or 0.0, 0.0) for each in (row.score, row.low, row.high))
    return PointWithInterval(row.insertions or 0, value, low, high)


def _varied(rows: Sequence[UpdateRow], name: str) -> list[Figure]:
    """Scores by something that has several values; the classes are taken together."""
    values = list(dict.fromkeys(getattr(row, name) for row in rows))
    if len(values) < 2:
        return []
    counts = sorted({row.insertions or 0 for row in rows})[-len(SERIES) :]
    series = [
        (
            f"{count} insertions",
            [
                GroupValue(mean_score(row for row in rows if _is(row, count, name, value)))
                for value in values
            ],
        )
        for count in counts
    ]
    known = [one for one in series if any(each.value is not None for each in one[1])]
    if not known:
        return []
    scenario, (what, below) = rows[0].scenario, VARIED[name]
    title = f"{scenario}: score by {what}"
    groups = [f"{value:g}" if isinstance(value, float) else str(value or "all") for value in values]
    drawn = by_group(f"{name}-{scenario}", title, LABEL, groups, known, below=below)
    return [(title, "Mean over all canaries and seeds.", drawn)]


def _is(row: UpdateRow, insertions: int, name: str, value: object) -> bool:
    return row.insertions == insertions and getattr(row, name) == value
