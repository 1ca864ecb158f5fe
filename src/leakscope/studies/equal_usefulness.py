"""Trainings that stop where they are equally useful: each at the first snapshot that reaches a
validation perplexity, so that what they give away can be compared.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.records.artifacts import already, digest_of, read_parquet
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import remove
from leakscope.records.seal import SEAL
from leakscope.studies.kept_results import KeptResults, Step
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.finished_training import tidied
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings

SNAPSHOTS = "snapshots"
SNAPSHOT_FILES = {"config.json", "model.safetensors", "vocabulary.json", SEAL}


@dataclass(frozen=True)
class ReachedTarget:
    """The first snapshot of a training that is as useful as was asked for."""

    model: Path
    perplexity: float
    """Of the validation documents; at most the target."""
    epochs: float
    steps: int


@dataclass(frozen=True)
class TrainedOnce:
    """One training: what it reached, and what it cost."""

    path: Path
    reached: dict[float, ReachedTarget]
    """By target. Targets that were not reached are missing."""
    best: float
    """The lowest validation perplexity of all snapshots."""
    epochs: float
    """Trained in all."""
    seconds_per_epoch: float
    """Time spent in steps."""


def training_step(
    corpus: Corpus,
    settings: TrainSettings,
    targets: Sequence[float],
    evaluations: int,
    progress: Progress,
) -> Step:
    """A training with `evaluations` snapshots an epoch, until the lowest of some perplexities is
    reached or the epochs are over; without any, all epochs. Of its snapshots only those that first
    reach a target are kept.
    """
    asked = measured_often(corpus, settings, evaluations)
    made_from = recipe(corpus, settings, evaluations) | {"targets": sorted(targets)}
    asked = replace(asked, until_perplexity=min(targets, default=None))
    return Step("train", made_from, partial(_train, corpus, asked, tuple(targets), progress))


def recipe(corpus: Corpus, settings: TrainSettings, evaluations: int) -> dict[str, Any]:
    """What a training is made from, wherever it stops, as plain data; of an insecure seed, only
    that there was one, beside a digest of all.
    """
    return made_of(corpus, measured_often(corpus, settings, evaluations))


def made_of(corpus: Corpus, settings: TrainSettings) -> dict[str, Any]:
    """The text and the settings of a training, as `recipe` has them."""
    return {
        "corpus": corpus.manifest.digest,
        "settings": settings.shareable(),
        "settings_digest": digest_of(settings.record()),
    }


def trained_to_all(
    kept: KeptResults,
    corpus: Corpus,
    settings: TrainSettings,
    targets: Sequence[float],
    evaluations: int,
    progress: Progress,
) -> dict[float, TrainedOnce]:
    """By target, a training that was to reach it. One that is there already is taken, also where it
    was made for other targets as well; only what is missing is trained, in one training.
    """
    found = kept_trainings(kept, corpus, settings, targets, evaluations)
    missing = [target for target in targets if target not in found]
    if missing:
        path = kept[training_step(corpus, settings, missing, evaluations, progress)]
        found |= dict.fromkeys(missing, trained_once(path, missing))
    return found


def kept_trainings(
    kept: KeptResults,
    corpus: Corpus,
    settings: TrainSettings,
    targets: Sequence[float],
    evaluations: int,
) -> dict[float, TrainedOnce]:
    """By target, a training that was to reach it and is there already."""
    wanted = recipe(corpus, settings, evaluations)
    found: dict[float, TrainedOnce] = {}
    for made_from, path in kept.of_kind("train"):
        known = made_from["targets"]
        if digest_of({name: made_from[name] for name in wanted}) == digest_of(wanted):
            for target in set(targets) & set(known):
                found.setdefault(target, trained_once(path, known))
    return found


def measured_often(corpus: Corpus, settings: TrainSettings, evaluations: int) -> TrainSettings:
    """The settings of a training with so many snapshots an epoch."""
    steps = max(1, math.ceil(steps_per_epoch(corpus, settings) / evaluations))
    return replace(settings, snapshot_steps=steps)


def steps_per_epoch(corpus: Corpus, settings: TrainSettings) -> int:
    """About how many steps go once through the training text; long documents make more."""
    if isinstance(settings.mitigation, PrivacySettings):
        units = corpus.manifest.train.users
        if settings.mitigation.unit == "document":
            units = corpus.manifest.train.documents
        return math.ceil(1 / settings.mitigation.rate_of(units))
    return math.ceil(corpus.manifest.train.documents / settings.batch_size)


def trained_once(path: Path, targets: Sequence[float]) -> TrainedOnce:
    """What a training in a study reached, by its own history."""
    history = read_parquet(path / "history.parquet").to_pylist()
    measured = [line for line in history if line["validation_perplexity"] is not None]
    if not measured:
        raise LeakscopeError(
            f"No validation perplexity of the training in {path} is a number; lower "
            f"--learning-rate."
        )
    reached = {}
    for target in targets:
        line = _first(measured, target)
        if line is not None:
            reached[target] = ReachedTarget(
                _home(path, line, is_last=line is history[-1]),
                line["validation_perplexity"],
                line["epoch"],
                line["step"],
            )
    last = history[-1]
    return TrainedOnce(
        path,
        reached,
        min(line["validation_perplexity"] for line in measured),
        last["epoch"],
        last["seconds"] / last["epoch"],
    )


def _train(
    corpus: Corpus,
    settings: TrainSettings,
    targets: tuple[float, ...],
    progress: Progress,
    path: Path,
) -> None:
    if (path / "config.json").exists():
        tidied(path)
    else:
        train(corpus, path, settings, progress=progress)
    keep_snapshots(path, {each.model for each in trained_once(path, targets).reached.values()})


def keep_snapshots(path: Path, kept: Collection[Path]) -> None:
    """Remove all snapshots of a finished training but these; also what a kill has left of one."""
    for snapshot in (path / SNAPSHOTS).iterdir():
        if snapshot not in kept:
            if not {entry.name for entry in snapshot.iterdir()} <= SNAPSHOT_FILES:
                raise already(snapshot)
            remove(snapshot)


def _first(lines: list[dict[str, Any]], target: float) -> dict[str, Any] | None:
    return next((line for line in lines if line["validation_perplexity"] <= target), None)


def _home(path: Path, line: dict[str, Any], *, is_last: bool) -> Path:
    """Where the model of a line of the history is: the last one may have no snapshot."""
    snapshot = path / SNAPSHOTS / f"step-{line['step']:07d}"
    return path if is_last and not snapshot.exists() else snapshot
