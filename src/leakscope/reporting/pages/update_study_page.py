"""`study.html` of a study of updates: what two models give away, without words or users."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leakscope.records.studies.update_study_record import (
    UpdateCondition,
    UpdateRow,
    UpdateStudyRecord,
)
from leakscope.reporting.facts.update_findings import by_scenario, sentences
from leakscope.reporting.facts.values import ABSENT
from leakscope.reporting.pages.canary_page import Table, write_page
from leakscope.reporting.svg.update_study_figures import update_figures

_WHICH = {
    "scenario": "Scenario",
    "training": "Training",
    "extra": "Extra",
    "top_k": "Sees top",
}
SHORT_COLUMNS = {
    **_WHICH,
    "known": "Known",
    "insertions": "Insertions",
    "frequency": "Class",
    "score": "Score",
    "relative_score": "Relative",
    "rank": "Median rank",
    "rank_apart": "without canaries",
    "rank_zero": "Rank 0",
    "canaries": "of",
    "control_high": "Greatest control",
}
"""For a terminal."""
SHORT_FOUND_COLUMNS = {
    **_WHICH,
    "insertions": "Insertions",
    "new_perplexity": "Perplexity",
    "in_difference_found": "In difference",
    "one_user_found": "One user's",
    "top_one_user": "Of top 10",
}
FOUND_COLUMNS = {
    **_WHICH,
    "insertions": "Insertions",
    "seeds": "Seeds",
    "old_perplexity": "Perplexity before",
    "new_perplexity": "after",
    "found": "Found",
    "best_score": "Best score",
    "in_difference_found": "In the difference",
    "one_user_found": "One user's alone",
    "one_user_longest": "Longest (words)",
    "users_found": "Users",
    "top_one_user": "One user's, of the ten best",
}
DETAIL_COLUMNS = {
    **SHORT_COLUMNS,
    "low": "Least score",
    "high": "Greatest score",
    "control_score": "Mean of controls",
    "controls": "Controls",
    "measured": "Measured",
    "exact": "Ranks are exact",
}
READING = (
    "Someone who has the model before and after an update looks for what it was updated with. A "
    "canary's differential score is the sum of what each word's probability rises by, at most one "
    "for each word. Rank 0 means that no other sequence of its length has a greater score, but for "
    "other canaries of the same update: it is what the attacker finds first. Scores are means over "
    "canaries and seeds, ranks medians. Controls are canaries that the update does not have: "
    "what is not above their scores may be chance."
)


def write_update_study_page(record: UpdateStudyRecord, path: Path) -> None:
    """Write `study.html`."""
    tables: list[Table] = [_by_insertions(each) for each in by_scenario(record.rows)]
    tables.append(("What searches found", FOUND_COLUMNS, found_lines(record)))
    if record.rows:
        tables.append(("Canaries under all conditions", DETAIL_COLUMNS, canary_lines(record)))
    write_page(
        path, "Study of updates", _title(record), READING, record.warnings,
        update_figures(record), tables, sentences(record),
    )  # fmt: skip


def canary_lines(record: UpdateStudyRecord) -> list[dict[str, Any]]:
    """The rows of the record as tables show them."""
    return [_line(row) for row in record.rows]


def found_lines(record: UpdateStudyRecord) -> list[dict[str, Any]]:
    """What searches found, as tables show it."""
    return [_line(row) for row in record.found]


def _line(row: UpdateCondition) -> dict[str, Any]:
    sees = "all" if row.top_k is None else row.top_k
    return row.model_dump() | {"extra": f"{row.extra:g}", "top_k": sees}


def _title(record: UpdateStudyRecord) -> str:
    scenarios = dict.fromkeys(each.scenario for each in record.found)
    return f"Updates by {', '.join(scenarios)}"


def _by_insertions(rows: Sequence[UpdateRow]) -> Table:
    """As table 1 of the paper: classes by insertions, each cell with its score and rank."""
    counts = sorted({row.insertions or 0 for row in rows})
    columns = {name: title for name, title in _WHICH.items() if name != "scenario"}
    columns |= {"known": "Known", "frequency": "Class"}
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        shown = _line(row)
        key = tuple(shown[name] for name in columns)
        line = lines.setdefault(key, dict(zip(columns, key, strict=True)))
        line[str(row.insertions)] = _cell(row)
    columns |= {str(count): f"{count} insertions" for count in counts}
    filled = [dict.fromkeys(columns) | line for line in lines.values()]
    return f"{rows[0].scenario}: score and rank by insertions", columns, filled


def _cell(row: UpdateRow) -> str:
    if row.score is None:
        return ABSENT
    if row.rank_apart is None:
        return f"{row.score:.2f}"
    if row.rank_zero == row.canaries:
        return f"{row.score:.2f} ● rank 0"
    least = "" if row.exact else "≥ "
    zero = f", 0 for {row.rank_zero} of {row.canaries}" if row.rank_zero else ""
    return f"{row.score:.2f} rank {least}{row.rank_apart:,.0f}{zero}"
