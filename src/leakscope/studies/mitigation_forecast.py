"""What a study of mitigations would take: the steps that it has, those that are kept, and what the
others cost.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import silent
from leakscope.records.runs.work_forecast import Forecast, ForecastStage
from leakscope.studies.canary_steps import (
    attack_step,
    exposure_step,
    plant_step,
    real_canaries_step,
    report_step,
)
from leakscope.studies.equal_usefulness import (
    TrainedOnce,
    kept_trainings,
    measured_often,
    trained_once,
    training_step,
)
from leakscope.studies.kept_results import KeptResults, Step
from leakscope.studies.mitigation_job import StudyJob
from leakscope.studies.mitigation_study import targets_of_best
from leakscope.studies.step_costs import (
    StepCount,
    TrainingCosts,
    canary_costs,
    plant_seconds,
    report_seconds,
    training_costs,
)
from leakscope.studies.study_directory import STEPS
from leakscope.studies.study_settings import OF_BEST

STOPS = "Trainings stop where they reach their target, so they may take less."


def mitigation_forecast(job: StudyJob, out: Path | None) -> Forecast:
    """Of `study mitigations` in `out`, where an earlier one may have left steps."""
    kept = Counter[str]() if out is None else _KeptSteps(job, out / STEPS).count()
    corpus, seeds = job.corpus, len(job.settings.seeds)
    targets = len(job.settings.targets or OF_BEST)
    measured = seeds * targets * len(job.trainings)
    costs = {each.name: _costs_of(job, each.name) for each in job.trainings}
    base = costs[job.baseline.name]
    canaries = canary_costs(corpus, job.baseline.settings, job.plant, job.exposure, job.attack)
    words = corpus.manifest.train.words
    stages: list[ForecastStage] = [
        StepCount("plant", seeds, kept["plant"]).stage(plant_seconds(corpus, job.plant))
    ]
    if not job.settings.targets:
        best = StepCount(f"train {job.baseline.name} to its best", 1, kept["best"])
        stages.append(best.stage(base.seconds))
    for each in job.trainings:
        name = f"train {each.name}"
        stages.append(StepCount(name, seeds, kept[name]).stage(costs[each.name].seconds))
    reading = sum(report_seconds(corpus, each.a_word) for each in costs.values()) / len(costs)
    stages += [
        StepCount("canaries", seeds * targets, kept["canaries"]).stage(base.a_word * words),
        StepCount("report", measured, kept["report"]).stage(reading),
        StepCount("exposure", measured, kept["exposure"]).stage(canaries.exposure),
        StepCount("attack", measured, kept["attack"]).stage(canaries.attack),
    ]
    disk = sum(each.forecast.disk or 0 for each in costs.values()) * seeds
    planted = sum(path.stat().st_size for path in corpus.path.rglob("*") if path.is_file())
    return Forecast(
        stages=tuple(stages),
        memory=peak_memory(),
        disk=disk + 2 * seeds * planted,
        notes=(STOPS,),
    )


def _costs_of(job: StudyJob, name: str) -> TrainingCosts:
    (training,) = (each for each in job.trainings if each.name == name)
    settings = measured_often(job.corpus, training.settings, job.settings.evaluations)
    return training_costs(job.corpus, settings)


class _KeptSteps:
    """Goes through the steps of a study as far as there are results to go on from."""

    def __init__(self, job: StudyJob, folder: Path) -> None:
        self._job, self._kept = job, KeptResults(folder, lambda: 0.0)
        self._found = Counter[str]()

    def count(self) -> Counter[str]:
        """How many of each kind are kept. Measurements of a target that was not reached need no
        step, and count as kept.
        """
        targets = self._targets()
        for seed in self._job.settings.seeds if targets is not None else ():
            self._seed(seed, targets or ())
        if targets is None:
            for seed in self._job.settings.seeds:
                self._planted(seed)
        return self._found

    def _has(self, step: Step, kind: str) -> Path | None:
        path = self._kept.find(step)
        self._found[kind] += path is not None
        return path

    def _planted(self, seed: int) -> Path | None:
        step = plant_step(self._job.corpus, replace(self._job.plant, seed=seed), silent)
        return self._has(step, "plant")

    def _targets(self) -> tuple[float, ...] | None:
        """From the easiest on; None: they follow from a training that is not there yet."""
        job, given = self._job, self._job.settings.targets
        if not given:
            seed = job.settings.seeds[0]
            planted = self._kept.find(plant_step(job.corpus, replace(job.plant, seed=seed), silent))
            if planted is None:
                return None
            settings = replace(job.baseline.settings, seed=seed)
            corpus = Corpus.open(planted / "corpus")
            step = training_step(corpus, settings, (), job.settings.evaluations, silent)
            path = self._has(step, "best")
            if path is None:
                return None
            given = targets_of_best(trained_once(path, ()).best)
        return tuple(sorted(given, reverse=True))

    def _seed(self, seed: int, targets: tuple[float, ...]) -> None:
        job, planted = self._job, self._planted(seed)
        if planted is None:
            return
        corpus = Corpus.open(planted / "corpus")
        trained: dict[str, dict[float, TrainedOnce]] = {}
        for each in job.trainings:
            settings = replace(each.settings, seed=seed)
            found = kept_trainings(self._kept, corpus, settings, targets, job.settings.evaluations)
            trained[each.name] = found
            self._found[f"train {each.name}"] += len(found) == len(targets)
        for target in targets:
            self._at_target(planted, corpus, trained, target)

    def _at_target(
        self,
        planted: Path,
        corpus: Corpus,
        trained: dict[str, dict[float, TrainedOnce]],
        target: float,
    ) -> None:
        job, canaries = self._job, planted
        plain = trained[job.baseline.name].get(target)
        if plain is not None:
            at = plain.reached.get(target)
            if at is None:
                self._found["canaries"] += 1
            else:
                found = self._has(real_canaries_step(planted, at.model, silent), "canaries")
                canaries = planted if found is None else found
        for each in job.trainings:
            once = trained[each.name].get(target)
            if once is None:
                continue
            reached = once.reached.get(target)
            if reached is None:
                self._found.update(("report", "exposure", "attack"))
                continue
            model, threads = reached.model, job.threads
            for step in (
                report_step(model, corpus, each.name, threads, silent),
                exposure_step(model, planted, job.exposure, threads, silent),
                attack_step(model, canaries, job.attack, threads, silent),
            ):
                self._has(step, step.kind)
