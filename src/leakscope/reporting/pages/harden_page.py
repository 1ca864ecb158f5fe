"""`harden.html`: what stricter interfaces leave of leakage and of use."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakscope.records.artifacts import write_text
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.facts import values
from leakscope.reporting.facts.guarantee import guarantee_of, stamps
from leakscope.reporting.facts.interface_facts import notes
from leakscope.reporting.pages.document import render
from leakscope.reporting.svg.tradeoff_figures import hardening_curve

COLUMNS = {
    "top_k": "Top-k",
    "threshold": "Silent above 1/p",
    "unique_sequences": "Unique sequences",
    "users_with_unique": "Users with unique",
    "leakage_epsilon": "Leakage epsilon",
    "validation_accuracy": "Val. accuracy (%)",
    "answered": "Answered (%)",
}


def write_hardening(run: Path, points: Sequence[Mapping[str, Any]], out: Path) -> Path:
    """Write the page for the run at `run` into `out`; `points` are the rows of `harden.json`."""
    manifest, metrics = open_run(run)
    page = render(
        "harden.html",
        manifest=manifest,
        metrics=metrics,
        stamps=notes(metrics.interface) + stamps(guarantee_of(manifest)),
        points=points,
        columns=COLUMNS,
        cell=cell,
        figures=_figures(points, metrics.top_k),
        block_list=(out / "blocklist.bloom").exists(),
    )
    path = out / "harden.html"
    write_text(path, page)
    return path


def cell(point: Mapping[str, Any], column: str) -> str:
    """A number as the table shows it."""
    value = point[column]
    if column == "threshold":
        return "never" if value is None else f"{value:g}"
    if value is None:
        return values.ABSENT
    if column in ("validation_accuracy", "answered"):
        return f"{100 * value:.2f}"
    return values.thousands(value) if isinstance(value, int) else values.rounded(value)


def _figures(points: Sequence[Mapping[str, Any]], top_k: int) -> list[tuple[str, str, Markup]]:
    drawn = [point for point in points if point["validation_accuracy"] is not None]
    shown = []
    confidence = [
        (cell(point, "threshold"), point["validation_accuracy"], point["unique_sequences"])
        for point in drawn
        if point["top_k"] == top_k
    ]
    if confidence:
        shown.append(
            (
                "Silence where the model is unsure",
                "Each dot is a threshold on 1/p of the best suggestion. Lower is more private, "
                "further right more useful.",
                hardening_curve(confidence, "confidence", "Unique sequences by threshold"),
            )
        )
    fewer = [
        (f"top-{point['top_k']}", point["validation_accuracy"], point["unique_sequences"])
        for point in drawn
        if point["threshold"] is None
    ]
    if len(fewer) > 1:
        shown.append(
            (
                "Fewer suggestions",
                "Each dot is a number of suggestions shown.",
                hardening_curve(fewer, "suggestions", "Unique sequences by top-k"),
            )
        )
    return shown
