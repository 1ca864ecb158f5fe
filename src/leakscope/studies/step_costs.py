"""What the steps of a study cost, measured on a sample of its corpus and on untrained models."""

from dataclasses import dataclass, replace
from pathlib import Path

from leakscope.auditing.forecasting.canary_forecast import attack_stages_of, exposure_stages_of
from leakscope.auditing.forecasting.corpus_sample import (
    FIRST_WORDS,
    corpus_sample,
    timed_on_samples,
)
from leakscope.auditing.forecasting.rehearsal import rehearsal_folder
from leakscope.auditing.forecasting.report_forecast import COUNTED
from leakscope.auditing.forecasting.training_forecast import (
    seconds_a_word,
    training_forecast,
    untrained,
)
from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings, PlantSettings
from leakscope.canaries.surprise import lexicon_of
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.runs.work_forecast import Forecast, ForecastStage
from leakscope.studies.canary_steps import plant_step
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings

ENOUGH = 1.0
"""Seconds of planting that are timed."""


@dataclass(frozen=True)
class StepCount:
    """Steps of one kind: how many a study has, and how many of them are kept."""

    kind: str
    total: int
    kept: int = 0
    """At most the total."""

    def stage(self, seconds: float | None, reason: str | None = None) -> ForecastStage:
        """What is left of them, at so many seconds each."""
        steps = "1 step" if self.total == 1 else f"{self.total} steps"
        said = f"; {self.kept} kept" if self.kept else ""
        due = self.total - self.kept
        return ForecastStage(
            name=self.kind,
            work=f"{steps}{said}",
            seconds=0.0 if not due else None if seconds is None else due * seconds,
            reason=None if seconds is not None or not due else reason,
        )


@dataclass(frozen=True)
class TrainingCosts:
    """Of one training of a study."""

    forecast: Forecast
    a_word: float
    """Seconds in which such a model reads a word."""

    @property
    def seconds(self) -> float:
        """Of a whole training."""
        return self.forecast.seconds


def training_costs(corpus: Corpus, settings: TrainSettings) -> TrainingCosts:
    """From the first steps of a training, and from a measurement by its untrained model."""

    def begin(out: Path, progress: Progress) -> object:
        return train(corpus, out, settings, progress=progress)

    return TrainingCosts(
        training_forecast(corpus, settings, begin), seconds_a_word(corpus, settings)
    )


def report_seconds(corpus: Corpus, a_word: float) -> float:
    """A report without a closer look: D and the held-out documents are scored, and D is counted."""
    words = corpus.manifest.train.words
    return a_word * (words + corpus.manifest.validation.words) + words / COUNTED


def plant_seconds(corpus: Corpus, settings: PlantSettings) -> float:
    """Of planting, from planting in a sample."""
    asked = replace(settings, users=None)

    def work(sample: Corpus, out: Path, progress: Progress) -> object:
        return plant_step(sample, asked, progress).make(out)

    timed = timed_on_samples(corpus, work, ENOUGH)
    return timed.seen.seconds / timed.share


@dataclass(frozen=True)
class CanaryCosts:
    """Of measuring canaries once, in seconds."""

    exposure: float
    attack: float


def canary_costs(
    corpus: Corpus,
    settings: TrainSettings,
    plant: PlantSettings,
    exposure: ExposureSettings,
    attack: AttackSettings,
) -> CanaryCosts:
    """By an untrained model, on canaries that were planted in a sample."""
    with rehearsal_folder() as folder:
        sample, _ = corpus_sample(corpus, FIRST_WORDS, folder / "sample")
        out = folder / "planted"
        plant_step(sample, replace(plant, users=None), silent).make(out)
        manifest = CanaryManifest.load(out)
    model = untrained(corpus, settings).reading(lexicon_of(manifest))
    users = corpus.manifest.train.users if plant.users is None else plant.users
    times = max(1.0, users / max(1, sample.manifest.train.users))
    measured = exposure_stages_of(model, manifest, exposure)
    attacked = attack_stages_of(model, manifest, attack)
    return CanaryCosts(
        sum(stage.seconds or 0.0 for stage in measured),
        times * sum(stage.seconds or 0.0 for stage in attacked),
    )
