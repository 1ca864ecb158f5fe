"""What measuring canaries would take, from some of the texts that the model has to score."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from leakscope.auditing.canaries.canary_models import CanarySubject
from leakscope.auditing.canaries.measuring import ModelAccess, measured_subject
from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.rehearsal import (
    EnoughError,
    Rehearsal,
    Watch,
    rehearsal_folder,
)
from leakscope.canaries.canary_plan import ATTACK, BEAM, FIT, SCORE, SpaceWork
from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings
from leakscope.canaries.exposure import fit_space
from leakscope.canaries.exposure_run import kept_texts, measure_exposure, spaces_work
from leakscope.canaries.reconstruction import attack_canaries, kept_attacks
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import silent
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import Forecast, ForecastStage, kept_said

ENOUGH = 3.0
"""Seconds of scoring that are timed."""
FEW_RESAMPLES, FEW_CANARIES = 10, 256
"""What a fit, and an attack, are timed with."""
ROW, PAGE = 200, 40_000
"""Bytes of a canary in files, and of a page, about."""


@contextmanager
def _opened(
    access: ModelAccess, manifest: CanaryManifest, *, other_corpus: bool
) -> Iterator[CanarySubject]:
    if access.endpoint is not None:
        raise LeakscopeError("To ask an endpoint costs requests; a dry run sends none.")
    with (
        rehearsal_folder() as folder,
        measured_subject(access, manifest, folder, silent, other_corpus=other_corpus) as subject,
    ):
        yield subject


def exposure_forecast(
    access: ModelAccess, manifest: CanaryManifest, how: ExposureSettings, out: Path | None = None
) -> Forecast:
    """Of `canary exposure`. `out`: where a killed one may have left something."""
    with _opened(access, manifest, other_corpus=how.other_corpus) as subject:
        stages = exposure_stages_of(subject.model, manifest, how, _kept(subject, out))
    return _forecast(stages, manifest)


def _kept(subject: CanarySubject, out: Path | None) -> KeptChunks:
    return NOWHERE if out is None else subject.kept_in(out)


def exposure_stages_of(
    model: LanguageModel,
    manifest: CanaryManifest,
    how: ExposureSettings,
    kept: KeptChunks = NOWHERE,
) -> list[ForecastStage]:
    """The texts of all random spaces are scored, and distributions are fitted to samples."""
    work = spaces_work(model, manifest, how)
    rows, samples = sum(each.rows for each in work), sum(each.samples for each in work)
    seen = _scored(model, manifest, how)
    stage = seen.stages.get(SCORE)
    a_row = 0.0 if stage is None else stage.seconds / max(1, stage.done)
    done = kept_texts(model, manifest, how, kept)
    text = f"{rows:,} texts{kept_said(done)}"
    found = [ForecastStage(name=SCORE, work=text, seconds=(rows - done) * a_row)]
    if samples:
        said = f"{samples:,} samples, {how.bootstrap} times"
        found.append(ForecastStage(name=FIT, work=said, seconds=_fitting(work, how)))
    return found


def _scored(model: LanguageModel, manifest: CanaryManifest, how: ExposureSettings) -> Rehearsal:
    watch = Watch(ENOUGH)
    watch.start()
    with suppress(EnoughError):
        measure_exposure(model, manifest, how, watch)
    return watch.seen(finished=False)


def _fitting(work: list[SpaceWork], how: ExposureSettings) -> float:
    """Seconds of all fits, from one with a few resamples. Which numbers it is fitted to matters
    little.
    """
    rng = np.random.default_rng(0)
    most = max(each.samples for each in work)
    samples, few = rng.normal(50.0, 5.0, most), min(FEW_RESAMPLES, how.bootstrap)
    fit_space(samples[:1000], few, rng)  # loads
    begin = time.perf_counter()
    fit_space(samples, few, rng)
    seconds = (time.perf_counter() - begin) * how.bootstrap / few
    return sum(seconds * each.samples / most for each in work)


def attack_forecast(
    access: ModelAccess, manifest: CanaryManifest, how: AttackSettings, out: Path | None = None
) -> Forecast:
    """Of `canary attack`. `out`: where a killed one may have left something."""
    with _opened(access, manifest, other_corpus=how.other_corpus) as subject:
        stages = attack_stages_of(subject.model, manifest, how, _kept(subject, out))
    return _forecast(stages, manifest)


def attack_stages_of(
    model: LanguageModel,
    manifest: CanaryManifest,
    how: AttackSettings,
    kept: KeptChunks = NOWHERE,
) -> list[ForecastStage]:
    """Attacks on a few canaries, scaled to all."""
    total, few = len(manifest.canaries), manifest.canaries[:FEW_CANARIES]
    attack_canaries(model, manifest.model_copy(update={"canaries": few[:4]}), how)  # loads
    watch = Watch(None)
    watch.start()
    attack_canaries(model, manifest.model_copy(update={"canaries": few}), how, watch)
    seen = watch.seen(finished=True)
    times = total / max(1, len(few))
    attacks = zip((ATTACK, BEAM), kept_attacks(model, manifest, how, kept), strict=True)
    return [
        ForecastStage(
            name=name,
            work=f"{total:,} canaries{kept_said(done)}",
            seconds=times * seen.seconds_of(name) * (1 - done / max(1, total)),
        )
        for name, done in attacks
        if name == ATTACK or how.beam > 1
    ]


def _forecast(stages: list[ForecastStage], manifest: CanaryManifest) -> Forecast:
    disk = ROW * len(manifest.canaries) + PAGE
    return Forecast(stages=tuple(stages), memory=peak_memory(), disk=disk)
