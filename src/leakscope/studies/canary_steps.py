"""The steps of a study that plant and measure: each writes what the command of its kind would."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.canary_models import plain_model
from leakscope.auditing.canaries.canary_results import (
    ATTACK_REPORT,
    EXPOSURE_REPORT,
    write_attack,
    write_exposure,
)
from leakscope.auditing.canaries.measuring import ModelAccess
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import RunningSettings
from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings, PlantSettings
from leakscope.canaries.planting.planter import PlantJob, plant
from leakscope.canaries.planting.real_canaries import listed_for_manifest
from leakscope.canaries.planting.row_sources import CorpusSource
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.run_directory import WORK
from leakscope.models.word.model_directory import weights_digest
from leakscope.records.artifacts import private_directory, write_sealed
from leakscope.records.canaries.canary_manifest import MANIFEST, CanaryManifest
from leakscope.records.output_claim import is_unfinished, sweep
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from leakscope.studies.kept_results import Step


def plant_step(corpus: Corpus, settings: PlantSettings, progress: Progress) -> Step:
    """A corpus with canaries in it, and their manifest."""
    digest = corpus.manifest.digest
    origin = InputFile(name=corpus.path.name, format="corpus", digest=digest)
    job = PlantJob(
        CorpusSource(corpus),
        origin,
        settings,
        corpus.manifest.settings,
        before=corpus,
        progress=progress,
    )
    made_from = {"corpus": digest, "settings": _plain(settings)}
    return Step("plant", made_from, partial(plant, job), _finished(MANIFEST))


def real_canaries_step(planted: Path, model: Path, progress: Progress) -> Step:
    """The canaries of a planted corpus, and with them each user's document that surprises a model
    most.
    """
    manifest = CanaryManifest.load(planted)
    made_from = {"canaries": manifest.digest, "model": weights_digest(model)}
    make = partial(_add_real, planted, model, progress)
    return Step("canaries", made_from, make, _finished(MANIFEST))


def _add_real(planted: Path, model: Path, progress: Progress, out: Path) -> None:
    manifest, corpus = CanaryManifest.load(planted), Corpus.open(planted / "corpus")
    texts = {canary.text for canary in manifest.canaries if canary.state == "planted"}
    loaded, first = plain_model(model, corpus), len(manifest.canaries)
    real, without = listed_for_manifest(loaded, corpus, texts, first, progress)
    update = {"canaries": [*manifest.canaries, *real], "without_real": without}
    private_directory(out)
    sweep(out)
    write_sealed(out / MANIFEST, manifest.model_copy(update=update), ())


def exposure_step(
    model: Path, canaries: Path, settings: ExposureSettings, threads: int, progress: Progress
) -> Step:
    """The exposure of canaries to a model."""
    manifest = CanaryManifest.load(canaries)
    access = ModelAccess(LoadingSettings(threads=threads), model)
    make = partial(write_exposure, access, manifest, settings, progress=progress)
    made_from = _measured(model, manifest, _plain(settings))
    return Step("exposure", made_from, make, _finished(EXPOSURE_REPORT))


def attack_step(
    model: Path, canaries: Path, settings: AttackSettings, threads: int, progress: Progress
) -> Step:
    """The tab attack on canaries."""
    manifest = CanaryManifest.load(canaries)
    access = ModelAccess(LoadingSettings(threads=threads), model)
    make = partial(write_attack, access, manifest, settings, progress=progress)
    made_from = _measured(model, manifest, _plain(settings))
    return Step("attack", made_from, make, _finished(ATTACK_REPORT))


def report_step(model: Path, corpus: Corpus, name: str, threads: int, progress: Progress) -> Step:
    """A report, under the name of the training, without looking for the least context."""
    asked = ReportSettings(least_context=0)
    job = ReportJob(
        corpus, asked, running=RunningSettings(name=name, threads=threads), page=write_page
    ).prepared()
    made_from = {
        "model": weights_digest(model),
        "corpus": corpus.manifest.digest,
        "settings": _plain(asked),
        "name": name,
    }
    make = partial(job.report, model, progress=progress)
    return Step("report", made_from, make, _run_is_finished)


def _measured(model: Path, manifest: CanaryManifest, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": weights_digest(model),
        "canaries": manifest.digest,
        "settings": settings,
    }


def _plain(settings: Any) -> dict[str, Any]:
    """A settings record as JSON has it, without paths."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(settings).items()
    }


def _finished(record: str) -> Callable[[Path], bool]:
    """Whether a directory has the record that is written last, and nothing goes on in it."""
    return lambda path: (path / record).exists() and not is_unfinished(path)


def _run_is_finished(path: Path) -> bool:
    return (path / "manifest.json").exists() and not (path / WORK).is_dir()
