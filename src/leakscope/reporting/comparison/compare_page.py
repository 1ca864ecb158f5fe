"""`compare.html` and `compare.json`: runs side by side."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from leakscope.records.artifacts import (
    already,
    private_directory,
    seal_files,
    write_json,
    write_text,
)
from leakscope.records.unique import HELD_BY
from leakscope.records.user_groups import GROUP_USERS
from leakscope.reporting.comparison import impact_section
from leakscope.reporting.comparison.compared_runs import (
    ComparedRun,
    cautions,
    differences,
    is_snapshots,
)
from leakscope.reporting.comparison.compared_table import (
    cell,
    columns_of,
    compare_rows,
    missing,
    tells_words,
)
from leakscope.reporting.comparison.disparate_impact import Comparison, disparate_impact
from leakscope.reporting.facts import guarantees, values
from leakscope.reporting.pages.document import render
from leakscope.reporting.rows.listing import unique_perplexities
from leakscope.reporting.svg import snapshot_figures, tradeoff_figures
from leakscope.reporting.svg.canvas import number

DATA, PAGE = "compare.json", "compare.html"
Figure = tuple[str, str, Markup | None]
"""Title, how to read it (or why it is not there), drawing."""


def write_comparison(
    runs: Sequence[ComparedRun], out: Path, group_users: int = GROUP_USERS
) -> Path:
    """Write `compare.html` and `compare.json` into `out`, in the place of earlier ones; gives the
    page's path.
    """
    refuse_foreign(_folder(out))
    impact = disparate_impact(runs)
    rows, snapshots, warnings = compare_rows(runs), is_snapshots(runs), differences(runs)
    notes = cautions(runs)
    plain = {"runs": rows, "snapshots": snapshots, "warnings": [*warnings, *notes]}
    told = {} if impact is None else {"disparate_impact": impact_section.plain(impact, group_users)}
    write_json(out / DATA, plain | told)
    page = render(
        "compare.html",
        rows=rows,
        tells_words=tells_words(rows),
        columns=columns_of(rows),
        cautions=notes,
        cell=cell,
        missing=missing(rows),
        privacy={
            "columns": guarantees.DETAILS,
            "models": guarantees.detailed(rows),
            "caveats": guarantees.caveats(rows),
        },
        impact=None if impact is None else _impact(impact, group_users),
        held_by=HELD_BY,
        snapshots=snapshots,
        warnings=warnings,
        top_k=sorted({run.metrics.top_k for run in runs}),
        figures=(_snapshot_figures(runs) if snapshots else []) + [_tradeoff(rows)],
    )
    path = out / PAGE
    write_text(path, page)
    seal_files(out, [DATA, PAGE])
    return path


def refuse_foreign(out: Path) -> None:
    """Raise if `out` has files by the names of a comparison's that are not one's."""
    for name, ours in ((DATA, _is_our_data), (PAGE, _is_our_page)):
        path = out / name
        if os.path.lexists(path) and not (path.is_file() and ours(path.read_bytes())):
            raise already(path)


def _is_our_data(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"runs", "snapshots", "warnings"} <= found.keys()


def _is_our_page(content: bytes) -> bool:
    return b"<footer>Made by leakscope" in content


def _impact(found: Comparison, size: int) -> dict[str, Any]:
    """What the section on disparate impact shows."""
    return {
        "baseline": found.baseline,
        "reading": impact_section.READING,
        "columns": impact_section.columns(size),
        "rows": impact_section.table_rows(found, size),
        "notes": impact_section.notes(found, size),
        "figures": impact_section.figures(found),
    }


def _snapshot_figures(given: Sequence[ComparedRun]) -> list[Figure]:
    """Figures 5a to 5c, in the order of training."""
    # Snapshots of one step have the same weights: one of them is enough.
    runs = sorted({run.step or 0: run for run in given}.values(), key=lambda run: run.step or 0)
    names = [number(run.epoch) if run.epoch is not None else f"step {run.step}" for run in runs]
    return [_curves(runs), _lengths(runs, names), _perplexities(runs, names)]


def _curves(runs: Sequence[ComparedRun]) -> Figure:
    title = "Train and validation perplexity"
    metrics = [run.metrics for run in runs]
    if all(m.train_perplexity is None and m.validation_perplexity is None for m in metrics):
        return title, f"– ({values.reason(metrics[0], 'train_perplexity')})", None
    drawing = snapshot_figures.perplexity_curves(
        [float(run.epoch if run.epoch is not None else run.step or 0) for run in runs],
        [m.train_perplexity for m in metrics],
        [
            (m.train_perplexity_low, m.train_perplexity_high)
            if m.train_perplexity_low is not None and m.train_perplexity_high is not None
            else None
            for m in metrics
        ],
        [m.validation_perplexity for m in metrics],
    )
    reading = "Curves that diverge show a model that is memorizing its training data."
    return title, reading, drawing


def _lengths(runs: Sequence[ComparedRun], names: list[str]) -> Figure:
    title = "Lengths of the unique sequences, by epoch"
    if not any(run.metrics.unique_by_length for run in runs):
        return title, "No snapshot has a unique sequence.", None
    drawing = snapshot_figures.lengths_by_snapshot(
        names, [run.metrics.unique_by_length for run in runs]
    )
    return (
        title,
        "One bar per epoch for each length; the later the epoch, the stronger its color.",
        drawing,
    )


def _perplexities(runs: Sequence[ComparedRun], names: list[str]) -> Figure:
    title = "Perplexities of the unique sequences, by epoch"
    found = [unique_perplexities(run.path, run.metrics.unique_sequences) for run in runs]
    if not any(np.isfinite(of_one).any() for of_one in found):
        return title, "No snapshot has a unique sequence.", None
    reading = (
        "The width is the number of unique sequences at that perplexity, on one scale for all "
        "snapshots; the line is the median. Sequences near 1 are known by heart."
    )
    return title, reading, snapshot_figures.perplexities_by_snapshot(names, found)


def _tradeoff(rows: Sequence[Mapping[str, Any]]) -> Figure:
    title = "Privacy against use"
    points = [
        (row["name"], row["validation_accuracy"], row["unique_sequences"])
        for row in rows
        if row["validation_accuracy"] is not None
    ]
    if not points:
        why = rows[0]["reasons"].get("validation_accuracy", values.UNEXPLAINED)
        return title, f"– (validation accuracy: {why})", None
    reading = "Further right is more useful, lower is more private."
    return title, reading, tradeoff_figures.models_tradeoff(points)


def _folder(out: Path) -> Path:
    """`out`, made private if it is new; a folder of the user's stays as it is."""
    return out if out.is_dir() else private_directory(out)
