"""`study.html`: trainings at equal usefulness, without words or users."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from leakscope.records.studies.study_record import StudyRecord, StudyRow
from leakscope.reporting.pages.canary_page import Table, write_page
from leakscope.reporting.svg.canary_figures import PointWithInterval, by_repetitions
from leakscope.reporting.svg.canvas import SERIES
from leakscope.reporting.svg.group_figures import GroupValue, by_group

Figure = tuple[str, str, Markup]

_WHICH = {"training": "Training", "target": "Target perplexity"}
USE_COLUMNS = {
    **_WHICH,
    "reached": "Seeds there",
    "seeds": "of",
    "perplexity": "Perplexity",
    "best_perplexity": "Best",
    "epochs": "Epochs",
    "relative_cost": "Cost per epoch (plain = 1)",
    "seconds_per_epoch": "Seconds per epoch",
}
LEAK_COLUMNS = {
    **_WHICH,
    "epsilon": "DP epsilon",
    "unique_sequences": "Unique sequences",
    "exposure": "Mean exposure (bits)",
    "synthetic_rate": "Tab attack, synthetic",
    "real_rate": "Tab attack, real",
    "most_drop": "Drop, most documents",
    "fewest_drop": "Drop, fewest",
    "gap": "Gap",
}
REASON_COLUMNS = {**_WHICH, "reason": "Missing, because"}
SHORT_COLUMNS = {
    "training": "Training",
    "target": "Target",
    "perplexity": "Perplexity",
    "epochs": "Epochs",
    "relative_cost": "Cost",
    "epsilon": "Epsilon",
    "unique_sequences": "Unique",
    "exposure": "Exposure",
    "synthetic_rate": "Tab",
    "real_rate": "Real",
    "gap": "Gap",
}
"""For a terminal."""
REPETITION_COLUMNS = {
    "target": "Target perplexity",
    "repetitions": "Repetitions",
    "training": "Training",
    "measured": "Measured",
    "exposure": "Mean exposure (bits)",
    "exposure_low": "95 % from",
    "exposure_high": "to",
    "attacked": "Attacked",
    "rate": "Reconstructed",
    "rate_low": "95 % from",
    "rate_high": "to",
}
READING = (
    "Each training stops at the first snapshot whose validation perplexity is at most the target, "
    "so that what the models give away can be compared. Figures are means over the seeds that "
    "reached it; drops are rises in perplexity against the plain training."
)


def write_study_page(record: StudyRecord, path: Path) -> None:
    """Write `study.html`."""
    rows = [row.model_dump() for row in record.rows]
    tables: list[Table] = [
        ("Trainings at equal perplexity", USE_COLUMNS, rows),
        ("What they give away, and whom they serve", LEAK_COLUMNS, rows),
        ("What is missing", REASON_COLUMNS, [row for row in rows if row["reason"] is not None]),
        (
            "Planted canaries by repetitions",
            REPETITION_COLUMNS,
            [each.model_dump() for each in record.by_repetitions],
        ),
    ]
    write_page(
        path, "Study of mitigations", _title(record), READING, record.warnings,
        _figures(record), tables,
    )  # fmt: skip


def _title(record: StudyRecord) -> str:
    targets = " and ".join(f"{target:g}" for target in record.targets)
    several = "perplexities" if len(record.targets) > 1 else "perplexity"
    return f"{', '.join(each.name for each in record.trainings)} at {several} {targets}"


def _figures(record: StudyRecord) -> list[Figure]:
    found: list[Figure] = []
    for number, target in enumerate(record.targets):
        rows = [row for row in record.rows if row.target == target]
        found += _exposure(record, number, target)
        found += _attack(number, target, rows)
        found += _drops(number, target, rows)
    return found + _cost(record)


def _exposure(record: StudyRecord, number: int, target: float) -> list[Figure]:
    """As figure 2 of Mireshghallah et al. (2021)."""
    series = []
    for training in record.trainings:
        points = [
            PointWithInterval(
                each.repetitions, each.exposure, each.exposure_low, each.exposure_high
            )
            for each in record.by_repetitions
            if (each.training, each.target) == (training.name, target) and each.exposure is not None
        ]
        series.append((training.name, points))
    title = f"Exposure by repetitions at perplexity {target:g}"
    reading = (
        "Mean over planted canaries of all seeds, with its 95 % interval. Canaries that were not "
        "planted have about 1.4 bits."
    )
    return [
        (
            title,
            reading,
            by_repetitions(
                f"exposure{number}-{at}", title, "exposure (bits)", series[at : at + len(SERIES)]
            ),
        )
        for at in range(0, len(series), len(SERIES))
        if any(points for _, points in series[at : at + len(SERIES)])
    ]


def _attack(number: int, target: float, rows: Sequence[StudyRow]) -> list[Figure]:
    """As figures 3a and 3b."""
    title = f"Tab attack at perplexity {target:g}"
    series = [
        (
            "synthetic canaries",
            [GroupValue(row.synthetic_rate, row.synthetic_low, row.synthetic_high) for row in rows],
        ),
        ("real canaries", [GroupValue(row.real_rate, row.real_low, row.real_high) for row in rows]),
    ]
    reading = (
        "Share of canaries that the model completes from their first words, with 95 % intervals. "
        "Real canaries are the documents that surprised the plain model most."
    )
    return _grouped(f"attack{number}", title, "share reconstructed", reading, rows, series, 1.0)


def _drops(number: int, target: float, rows: Sequence[StudyRow]) -> list[Figure]:
    """As figure 3c."""
    title = f"Disparate impact at perplexity {target:g}"
    series = [
        ("users with most documents", [GroupValue(row.most_drop) for row in rows]),
        ("with fewest", [GroupValue(row.fewest_drop) for row in rows]),
    ]
    reading = "Mean rise in perplexity against the plain training, by users."
    return _grouped(f"drops{number}", title, "rise in perplexity", reading, rows, series)


def _cost(record: StudyRecord) -> list[Figure]:
    """As figure 4, in all."""
    rows = [row for row in record.rows if row.target == record.targets[-1]]
    title = "Cost of an epoch"
    series = [("time per epoch", [GroupValue(row.relative_cost) for row in rows])]
    reading = "Time spent in training steps, in that of plain training."
    return _grouped("cost", title, "plain = 1", reading, rows, series)


def _grouped(
    name: str,
    title: str,
    label: str,
    reading: str,
    rows: Sequence[StudyRow],
    series: list[tuple[str, list[GroupValue]]],
    top: float | None = None,
) -> list[Figure]:
    """One figure; none if nothing was measured."""
    known = [one for one in series if any(each.value is not None for each in one[1])]
    if not known:
        return []
    groups = [row.training for row in rows]
    return [(title, reading, by_group(name, title, label, groups, known, top))]
