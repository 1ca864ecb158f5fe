"""Runs side by side: Table 2 and Figure 5 of Inan et al. (2021)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from leakscope.records.artifacts import private_directory, write_json, write_text
from leakscope.records.errors import LeakscopeError
from leakscope.records.model import mitigation_of
from leakscope.records.run import Metrics, RunManifest, open_run
from leakscope.reporting.facts import guarantees, values
from leakscope.reporting.facts.guarantee import UNKNOWN, Guarantee, guarantee_of
from leakscope.reporting.pages.document import render
from leakscope.reporting.rows.listing import unique_perplexities
from leakscope.reporting.svg import figures
from leakscope.reporting.svg.canvas import number

COLUMNS = {
    "validation_perplexity": "Val. perplexity",
    "validation_accuracy": "Val. accuracy (%)",
    "unique_sequences": "Unique sequences in S",
    "leakage_epsilon": "Leakage epsilon",
    "occurrences": "Runs in S",
    "users_with_unique": "Users with unique",
    "longest_unique": "Longest unique",
}
"""The table's columns after the model's name; the first four are the paper's."""
MITIGATION = {"mitigation": "Mitigation"}
"""Shown where a run's model has a mitigation without columns of its own."""
BENCHMARK = {"public_unique_sequences": "Public model's own unique"}
"""The paper's benchmark line, shown where a run measured it."""


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The columns worth showing for some runs."""
    measured = any(row["public_unique_sequences"] is not None for row in rows)
    private = any(row["privacy"] is not None for row in rows)
    other = any(row["mitigation"] not in (None, "none") and not row["privacy"] for row in rows)
    shown = COLUMNS | (MITIGATION if other else {}) | (guarantees.COLUMNS if private else {})
    return shown | (BENCHMARK if measured else {})


@dataclass(frozen=True)
class ComparedRun:
    """One run among others."""

    path: Path
    label: str
    """The model's name; with the directory's where names repeat."""
    manifest: RunManifest
    metrics: Metrics

    @property
    def step(self) -> int | None:
        """Training steps done, if the model's config tells."""
        return (self.manifest.model.get("progress") or {}).get("step")

    @property
    def epoch(self) -> float | None:
        """Epochs done, if the model's config tells."""
        return (self.manifest.model.get("progress") or {}).get("epoch")

    @property
    def guarantee(self) -> Guarantee:
        """The differential privacy of the model, or why there is none to tell."""
        return guarantee_of(self.manifest)


def load_runs(paths: list[Path], *, allow_mixed: bool = False) -> list[ComparedRun]:
    """The runs at `paths`, in that order; a directory of runs stands for all of them, by name.

    Runs of different corpora or top k are refused unless `allow_mixed`.
    """
    found = [run for path in paths for run in _runs_at(path)]
    if not found:
        raise LeakscopeError("There is no run to compare; name at least one run directory.")
    opened = [(path, *open_run(path)) for path in found]
    names = [manifest.name for _, manifest, _ in opened]
    tails = _tails([path.resolve() for path, _, _ in opened])
    runs = [
        ComparedRun(
            path,
            manifest.name if names.count(manifest.name) == 1 else f"{manifest.name} ({tail})",
            manifest,
            metrics,
        )
        for (path, manifest, metrics), tail in zip(opened, tails, strict=True)
    ]
    if not allow_mixed and (problems := differences(runs)):
        raise LeakscopeError(
            f"{problems[0]} Compare runs of one kind, or pass --allow-mixed to see them anyway."
        )
    return runs


def differences(runs: Sequence[ComparedRun]) -> list[str]:
    """What makes the runs' numbers not comparable, a sentence each."""
    problems = []
    if len({run.manifest.corpus_digest for run in runs}) > 1:
        problems.append("The runs are over different corpora, so their counts do not compare.")
    if len({run.metrics.top_k for run in runs}) > 1:
        problems.append("The runs use different top-k, so their attackers do not see the same.")
    return problems


def cautions(runs: Sequence[ComparedRun]) -> list[str]:
    """What to bear in mind when comparing some of the numbers, a sentence each."""
    judges = {
        tuple(run.manifest.public["digests"]) for run in runs if run.manifest.public is not None
    }
    problems = []
    if len(judges) > 1:
        problems.append(
            "The runs were judged by different public models, so their leakage epsilons do not "
            "compare; give all of them one --public."
        )
    problems += guarantees.cautions([(run.label, run.guarantee) for run in runs])
    for run in runs:
        if run.manifest.public is not None:
            problems += [f"{run.label}: {line}" for line in run.manifest.public["warnings"]]
    return problems


def is_snapshots(runs: Sequence[ComparedRun]) -> bool:
    """Whether the runs are of one training at different steps; some of its snapshots, of other
    names, may have fallen on the same step, with the same weights.
    """
    first = runs[0].manifest.model.get("training")
    steps = [run.step for run in runs]
    return (
        len(runs) > 1
        and bool(first)
        and all(run.manifest.model.get("training") == first for run in runs)
        and None not in steps
        and len(set(steps)) > 1
        and len({(run.step, run.manifest.name) for run in runs}) == len(runs)
        and len({(run.step, run.manifest.model_digest) for run in runs}) == len(set(steps))
    )


def compare_rows(runs: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """One plain row a run, ready for JSON: its metrics, its name, and where it stands in training.

    `validation_accuracy` is the share at the run's own top k; null has its reason in `reasons`.
    """
    rows = []
    for run in runs:
        accuracy, why = values.accuracy(run.metrics)
        reasons = dict(run.metrics.reasons)
        if why is not None:
            reasons["validation_accuracy"] = why
        guarantee = run.guarantee
        if guarantee.reason is not None:
            reasons["dp_epsilon"] = guarantee.reason
        plain, mitigation = run.metrics.model_dump(mode="json"), mitigation_of(run.manifest.model)
        if mitigation is None:
            reasons["mitigation"] = UNKNOWN
        rows.append(
            {
                "name": run.label,
                "run": str(run.path),
                "epoch": run.epoch,
                "step": run.step,
                "corpus_digest": run.manifest.corpus_digest,
                "model_digest": run.manifest.model_digest,
                **plain,
                **guarantees.entries(guarantee),
                "mitigation": None if mitigation is None else mitigation.summary(),
                "validation_accuracy": accuracy,
                "reasons": reasons,
            }
        )
    return rows


def cell(row: Mapping[str, Any], column: str) -> str:
    """A number of `compare_rows` as the table shows it; a dash if it is null."""
    value = row[column]
    if column in guarantees.COLUMNS:
        return guarantees.cell(row, column)
    if value is None:
        return values.ABSENT
    if isinstance(value, str):
        return values.printable(value)
    if column == "validation_accuracy":
        return f"{100 * value:.2f}"
    return values.thousands(value) if isinstance(value, int) else values.rounded(value)


def missing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why there are dashes in the table: a line for each column and reason, with the runs. That
    there is no differential privacy is told even where no run has any, and so no column.
    """
    found: dict[tuple[str, str], list[str]] = {}
    columns = columns_of(rows) | guarantees.EPSILON
    for column in columns:
        for row in rows:
            if row[column] is None and column not in ("dp_delta", "dp_unit"):  # as the epsilon's
                why = row["reasons"].get(column, values.UNEXPLAINED)
                found.setdefault((column, why), []).append(row["name"])
    return [
        f"{columns[column]}: {why}" + ("" if len(of) == len(rows) else f" ({', '.join(of)})")
        for (column, why), of in found.items()
    ]


def write_comparison(runs: Sequence[ComparedRun], out: Path) -> Path:
    """Write `compare.html` and `compare.json` into `out`; gives the page's path."""
    _folder(out)
    rows, snapshots, warnings = compare_rows(runs), is_snapshots(runs), differences(runs)
    notes = cautions(runs)
    plain = {"runs": rows, "snapshots": snapshots, "warnings": [*warnings, *notes]}
    write_json(out / "compare.json", plain)
    page = render(
        "compare.html",
        rows=rows,
        columns=columns_of(rows),
        cautions=notes,
        cell=cell,
        missing=missing(rows),
        privacy={
            "columns": guarantees.DETAILS,
            "models": guarantees.detailed(rows),
            "caveats": guarantees.caveats(rows),
        },
        snapshots=snapshots,
        warnings=warnings,
        top_k=sorted({run.metrics.top_k for run in runs}),
        figures=(_snapshot_figures(runs) if snapshots else []) + [_tradeoff(rows)],
    )
    path = out / "compare.html"
    write_text(path, page)
    return path


Figure = tuple[str, str, Markup | None]
"""Title, how to read it (or why it is not there), drawing."""


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
    drawing = figures.perplexity_curves(
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
    reading = "Curves that part show a model that learns its training data by heart."
    return title, reading, drawing


def _lengths(runs: Sequence[ComparedRun], names: list[str]) -> Figure:
    title = "Lengths of the unique sequences, by epoch"
    if not any(run.metrics.unique_by_length for run in runs):
        return title, "No snapshot has a unique sequence.", None
    drawing = figures.lengths_by_snapshot(names, [run.metrics.unique_by_length for run in runs])
    return title, "For each length one bar an epoch, the later the stronger.", drawing


def _perplexities(runs: Sequence[ComparedRun], names: list[str]) -> Figure:
    title = "Perplexities of the unique sequences, by epoch"
    found = [unique_perplexities(run.path, run.metrics.unique_sequences) for run in runs]
    if not any(np.isfinite(of_one).any() for of_one in found):
        return title, "No snapshot has a unique sequence.", None
    reading = (
        "Width is the number of unique sequences at that perplexity, on one scale for all; the "
        "line is the median. Sequences near 1 are known by heart."
    )
    return title, reading, figures.perplexities_by_snapshot(names, found)


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
    return title, reading, figures.tradeoff(points)


def _runs_at(path: Path) -> list[Path]:
    if not path.is_dir() or (path / "metrics.json").exists():
        return [path]
    below = sorted(child for child in path.iterdir() if (child / "metrics.json").is_file())
    if not below:
        raise LeakscopeError(f"{path} is no run and holds none; make one by leakscope report.")
    return below


def _tails(paths: list[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart."""
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        tails = [str(Path(*path.parts[-depth:])) for path in paths]
        if len(set(tails)) == len(set(paths)):
            break
    return tails


def _folder(out: Path) -> Path:
    """`out`, made private if it is new; a folder of the user's stays as it is."""
    return out if out.is_dir() else private_directory(out)
