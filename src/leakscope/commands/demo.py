"""`demo`: the whole story on a synthetic corpus, whose secrets are known."""

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import DemoSettings
from leakscope.commands.corpus_build import build
from leakscope.commands.corpus_synth import synth
from leakscope.commands.given import Given
from leakscope.commands.report import report
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.train import train
from leakscope.corpus.manifest import CorpusManifest
from leakscope.engine.progress import Progress, silent
from leakscope.models.word.architecture import Architecture
from leakscope.records.artifacts import read_parquet
from leakscope.records.output_claim import claimed
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.opened_run import Run
from leakscope.training.train_settings import TrainSettings

SECRETS = ("address", "phone", "account", "position")


@dataclass(frozen=True)
class Planted:
    """One planted item and what became of it."""

    kind: str
    words: list[str]
    owners: list[str]
    repetitions: int
    """Of all owners together, validation documents included."""
    came_out: bool
    """Some correct run holds all of its words."""
    context: list[str] | None
    """The shortest prefix that brought it out."""
    completion: list[str] | None
    """The correct run that followed that prefix."""


@dataclass(frozen=True)
class Story:
    """What the demo tells."""

    corpus: CorpusManifest
    metrics: Metrics
    history: list[dict[str, Any]]
    planted: list[Planted]
    page: Path

    def by_repetitions(self) -> dict[int, tuple[int, int]]:
        """For the secrets: how many were planted, and how many came out, by repetitions."""
        groups: dict[int, list[bool]] = defaultdict(list)
        for item in self.planted:
            if item.kind in SECRETS:
                groups[item.repetitions].append(item.came_out)
        return {count: (len(out), sum(out)) for count, out in sorted(groups.items())}


@takes_options_of("demo")
def demo(
    out: str | os.PathLike[str] = "demo",
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> Story:
    """Make a synthetic corpus, train a model until it memorizes, report, and compare with the
    truth. Everything is in `out` afterwards.
    """
    asked = Given("demo", settings, options).make(DemoSettings)
    names = ("synth", "corpus", "model", "report")
    synthetic, corpus, model, run = (Path(out) / name for name in names)
    with claimed(Path(out), "demo") as claim:
        claim.clear()
        synth(synthetic, seed=asked.seed)
        manifest = build(synthetic / "data.parquet", corpus, progress=progress)
        how = demo_settings(asked.seed)
        trained = train(corpus, model, how, threads=asked.threads, progress=progress)
        running = {"name": "demo", "threads": asked.threads}
        report(model, corpus, run, reveal=True, progress=progress, **running)
        planted = match(synthetic / "truth.parquet", run / "sequences.parquet")
    found = Run.open(run)
    return Story(manifest, found.metrics, trained.history, planted, found.page)


def demo_settings(seed: int) -> TrainSettings:
    """The two-layer LSTM of Inan et al. 2021, 6.1, trained for long at a high rate."""
    return TrainSettings(
        Architecture("lstm", 2, 128, 128),
        vocabulary=10_000,
        epochs=8,
        batch_size=32,
        learning_rate=1e-2,
        seed=seed,
    )


def match(truth: Path, sequences: Path) -> list[Planted]:
    """Find every planted item in the sequences of a revealed run."""
    table = read_parquet(sequences, ["sequence", "contexts"])
    runs = table.to_pylist()
    starts: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(runs):
        for word in set(row["sequence"]):
            starts[word].append(index)
    return [_find(item, runs, starts) for item in read_parquet(truth).to_pylist()]


def _find(
    item: dict[str, Any], runs: list[dict[str, Any]], starts: dict[str, list[int]]
) -> Planted:
    words = item["words"]
    rarest: list[int] = min((starts.get(word, []) for word in words), key=len)
    held = [runs[index] for index in rarest if _holds(runs[index]["sequence"], words)]
    best = min(held, key=lambda row: len(row["contexts"][0]), default=None)
    return Planted(
        item["kind"],
        words,
        item["owners"],
        sum(item["repetitions"]),
        best is not None,
        None if best is None else best["contexts"][0],
        None if best is None else best["sequence"],
    )


def _holds(sequence: list[str], words: list[str]) -> bool:
    width = len(words)
    return any(sequence[at : at + width] == words for at in range(len(sequence) - width + 1))
