"""`study mitigations`: what trainings give away at equal usefulness, whom they serve, and what they
cost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.engine.step_progress import StepProgress
from leakscope.engine.time_left import expect
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import read_parquet
from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.studies.study_record import (
    StudyAttack,
    StudyExposure,
    StudyImpact,
    StudyResult,
)
from leakscope.reporting.comparison.compared_runs import ComparedRun, load_runs
from leakscope.reporting.comparison.disparate_impact import impact
from leakscope.studies.canary_steps import (
    attack_step,
    exposure_step,
    plant_step,
    real_canaries_step,
    report_step,
)
from leakscope.studies.equal_usefulness import (
    ReachedTarget,
    TrainedOnce,
    trained_once,
    trained_to_all,
    training_step,
)
from leakscope.studies.kept_results import KeptResults, Step
from leakscope.studies.mitigation_job import StudyJob
from leakscope.studies.planned_training import PlannedTraining
from leakscope.studies.study_plan import BEST, LONGEST, step_name
from leakscope.studies.study_settings import OF_BEST
from leakscope.studies.user_drops import user_drops

Made = TypeVar("Made")
NO_CLAIM = "epsilon: the training is not differentially private"
IS_PLAIN = "drops: this is the plain training that others are held against"
NO_PLAIN = "drops and real canaries: the plain training did not reach this target with this seed"
NO_USERS = "drops: fewer than two users have validation documents"


@dataclass
class StudyTables:
    """All that a study has measured."""

    targets: tuple[float, ...] = ()
    """From the easiest on."""
    targets_from: float | None = None
    """The best perplexity of plain training that they were made from."""
    results: list[StudyResult] = field(default_factory=list)
    exposure: list[StudyExposure] = field(default_factory=list)
    attack: list[StudyAttack] = field(default_factory=list)
    impact: list[StudyImpact] = field(default_factory=list)


@dataclass(frozen=True)
class _Seed:
    """The planted corpus of one seed, and what was trained on it."""

    seed: int
    planted: Path
    corpus: Corpus
    trained: dict[str, dict[float, TrainedOnce]]
    """By training and target."""

    def reached(self, training: PlannedTraining, target: float) -> ReachedTarget | None:
        return self.trained[training.name][target].reached.get(target)


class MitigationStudy:
    """Makes what is missing, step by step, and gathers the results."""

    def __init__(self, job: StudyJob, kept: KeptResults, progress: Progress) -> None:
        self._job, self._kept, self._outer = job, kept, progress
        self._progress = StepProgress(progress, LONGEST)
        self._done, self._total = 0, None if not job.settings.targets else self._steps(job)
        self.tables = StudyTables()

    @staticmethod
    def _steps(job: StudyJob, targets: int | None = None) -> int:
        trainings = len(job.trainings)
        several = len(job.settings.targets) if targets is None else targets
        return len(job.settings.seeds) * (1 + trainings + several * (1 + 3 * trainings))

    def run(self) -> StudyTables:
        """All of it."""
        expect(self._outer, self._job.plan())
        self._set_targets()
        for seed in self._job.settings.seeds:
            found = self._seed(seed)
            for target in self.tables.targets:
                self._at_target(found, target)
        self._tell(self._total or self._done, "")
        return self.tables

    def _tell(self, done: int, note: str) -> None:
        self._outer("study", done, self._total, note)

    def _next(self, note: str, make: Callable[[], Made]) -> Made:
        """What the next step of the plan makes, or has kept."""
        self._tell(self._done, note)
        self._progress.begin(step_name(self._done))
        made = make()
        self._progress.end()
        self._done += 1
        return made

    def _make(self, step: Step) -> Path:
        return self._next(step.kind, lambda: self._kept[step])

    def _planted(self, seed: int) -> tuple[Path, Corpus]:
        job = self._job
        path = self._kept[plant_step(job.corpus, replace(job.plant, seed=seed), self._progress)]
        return path, Corpus.open(path / "corpus")

    def _set_targets(self) -> None:
        job, given = self._job, self._job.settings.targets
        if not given:
            seed = job.settings.seeds[0]
            self._tell(0, f"train {job.baseline.name} to its best")
            settings = replace(job.baseline.settings, seed=seed)
            _, corpus = self._planted(seed)
            evaluations = job.settings.evaluations
            self._progress.begin(BEST)
            whole = training_step(corpus, settings, (), evaluations, self._progress)
            best = trained_once(self._kept[whole], ()).best
            self._progress.end()
            given = targets_of_best(best)
            self.tables.targets_from = best
            self._total = self._steps(job, len(given))
        self.tables.targets = tuple(sorted(given, reverse=True))

    def _seed(self, seed: int) -> _Seed:
        path, corpus = self._next("plant", partial(self._planted, seed))
        trained = {}
        for each in self._job.trainings:
            train = partial(
                trained_to_all,
                self._kept,
                corpus,
                replace(each.settings, seed=seed),
                self.tables.targets,
                self._job.settings.evaluations,
                self._progress,
            )
            trained[each.name] = self._next(f"train {each.name}", train)
        return _Seed(seed, path, corpus, trained)

    def _at_target(self, seed: _Seed, target: float) -> None:
        job = self._job
        plain = seed.reached(job.baseline, target)
        canaries = seed.planted
        if plain is not None:
            step = real_canaries_step(seed.planted, plain.model, self._progress)
            canaries = self._make(step)
        else:
            self._done += 1
        first: ComparedRun | None = None
        for each in (job.baseline, *(one for one in job.trainings if one is not job.baseline)):
            base = self._base(seed, each, target)
            reached = seed.reached(each, target)
            if reached is None:
                self._done += 3
                self.tables.results.append(base)
                continue
            run = self._report(seed, each, reached)
            if each is job.baseline:
                first = run
            values = _figures(reached, run.metrics)
            values |= self._canaries(seed, each, target, reached.model, canaries)
            drops, reasons = self._drops(seed, each, target, run, first)
            if values["epsilon"] is None:
                reasons.insert(0, values.pop("no_epsilon"))
            values.pop("no_epsilon", None)
            values |= drops | {"reason": "; ".join(reasons) or None}
            self.tables.results.append(base.model_copy(update=values))

    def _base(self, seed: _Seed, training: PlannedTraining, target: float) -> StudyResult:
        """What is known whether or not the target was reached."""
        once = seed.trained[training.name][target]
        plain = seed.trained[self._job.baseline.name][target]
        return StudyResult(
            training=training.name,
            mitigation=training.mitigation,
            seed=seed.seed,
            target=target,
            best_perplexity=once.best,
            trained_epochs=once.epochs,
            seconds_per_epoch=once.seconds_per_epoch,
            relative_cost=once.seconds_per_epoch / plain.seconds_per_epoch,
            reason=f"perplexity {target:g} was not reached within {once.epochs:g} epochs; the "
            f"best was {once.best:.2f}",
        )

    def _report(self, seed: _Seed, training: PlannedTraining, at: ReachedTarget) -> ComparedRun:
        step = report_step(at.model, seed.corpus, training.name, self._job.threads, self._progress)
        return load_runs([self._make(step)])[0]

    def _canaries(
        self, seed: _Seed, training: PlannedTraining, target: float, model: Path, canaries: Path
    ) -> dict[str, Any]:
        job, more = self._job, {"training": training.name, "seed": seed.seed, "target": target}
        step = exposure_step(model, seed.planted, job.exposure, job.threads, self._progress)
        table = read_parquet(self._make(step) / "exposure.parquet").to_pylist()
        exposed = [StudyExposure.model_validate(row | more) for row in table]
        step = attack_step(model, canaries, job.attack, job.threads, self._progress)
        table = read_parquet(self._make(step) / "attack.parquet").to_pylist()
        attacked = [StudyAttack.model_validate(row | more) for row in table]
        self.tables.exposure += exposed
        self.tables.attack += attacked
        bits = [
            each.exposure
            for each in exposed
            if each.state == "planted" and each.exposure is not None
        ]
        found: dict[str, Any] = {"exposure": sum(bits) / len(bits) if bits else None}
        for name, state in (("synthetic", "planted"), ("real", "real")):
            outcomes = [each.greedy for each in attacked if each.state == state]
            known = [outcome for outcome in outcomes if outcome is not None]
            found[f"{name}_attacked"] = len(known) if known else None
            found[f"{name}_reconstructed"] = sum(known) if known else None
        return found

    def _drops(
        self,
        seed: _Seed,
        training: PlannedTraining,
        target: float,
        run: ComparedRun,
        plain: ComparedRun | None,
    ) -> tuple[dict[str, Any], list[str]]:
        """Disparate impact, and why there is none."""
        if training is self._job.baseline:
            return {}, [IS_PLAIN]
        if plain is None:
            return {}, [NO_PLAIN]
        found = impact(run, plain)
        if found is None:
            return {}, [NO_USERS]
        more = {"training": training.name, "seed": seed.seed, "target": target}
        rows, figures = user_drops(found, self._job.settings.group_users, more)
        self.tables.impact += rows
        return figures, []


def targets_of_best(best: float) -> tuple[float, ...]:
    """What is compared at, where the best perplexity of plain training is this."""
    return tuple(float(f"{times * best:.4g}") for times in OF_BEST)


def _figures(reached: ReachedTarget, metrics: Metrics) -> dict[str, Any]:
    """Of the model where it reached the target."""
    privacy = load_config(reached.model).privacy
    return {
        "perplexity": reached.perplexity,
        "epochs": reached.epochs,
        "steps": reached.steps,
        "unique_sequences": metrics.unique_sequences,
        "epsilon": None if privacy is None else privacy.epsilon,
        "delta": None if privacy is None else privacy.delta,
        "no_epsilon": NO_CLAIM if privacy is None else f"epsilon: {privacy.reason}",
    }
