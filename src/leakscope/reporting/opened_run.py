"""A finished report, opened to be looked at."""

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pyarrow as pa

from leakscope.records.artifacts import read_parquet
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.storage.remote_address import spelled

_SHOWN = (
    "occurrences", "sequences", "unique_sequences", "users_with_unique", "longest_unique",
    "leakage_epsilon", "train_perplexity", "validation_perplexity",
)  # fmt: skip
"""The metrics that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Run:
    """A run directory of `report`: its numbers at hand, its tables when they are asked for."""

    path: Path
    manifest: RunManifest
    metrics: Metrics

    @staticmethod
    def open(path: str | os.PathLike[str]) -> "Run":
        """Open a run directory."""
        where = Path(path)
        manifest, metrics = open_run(where)
        return Run(where, manifest, metrics)

    @property
    def page(self) -> Path:
        """The report as one HTML page."""
        return self.path / "report.html"

    def sequences(self) -> pa.Table:
        """`sequences.parquet`: a row for each distinct sequence that came out."""
        return read_parquet(self.path / "sequences.parquet")

    def occurrences(self) -> pa.Table:
        """`occurrences.parquet`: a row for each time that a sequence came out."""
        return read_parquet(self.path / "occurrences.parquet")

    def users(self) -> pa.Table:
        """`users.parquet`: a row for each user of the corpus."""
        return read_parquet(self.path / "users.parquet")

    def __repr__(self) -> str:
        found = self.metrics
        behind = "" if found.interface is None else f", through an interface that {found.interface}"
        return (
            f"Run({spelled(self.path)!r}: {self.manifest.name}, top-{found.top_k}, "
            f"{found.unique_sequences} unique sequences of {found.users_with_unique} of "
            f"{found.asked.users} users{behind})"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        rows = [("model", self.manifest.name), ("top-k", str(self.metrics.top_k))]
        if self.metrics.interface is not None:
            rows.append(("through an interface that", self.metrics.interface))
        for name in _SHOWN:
            value = getattr(self.metrics, name)
            said = self.metrics.reasons.get(name, "not measured")
            if value is not None:
                said = f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
            rows.append((name.replace("_", " "), said))
        rows.append(("page", str(self.page)))
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        return f"<table>{cells}</table>"
