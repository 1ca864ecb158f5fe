"""What a study of updates would take: the steps that it has, those that are kept, and what the
others cost.
"""

from dataclasses import replace
from pathlib import Path

from leakscope.auditing.forecasting.diff_forecast import pair_stages
from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.training_forecast import untrained
from leakscope.auditing.updates.opened_pair import OpenedPair, Snapshot
from leakscope.engine.progress import silent
from leakscope.records.runs.work_forecast import Forecast
from leakscope.studies.kept_results import KeptResults, Step
from leakscope.studies.step_costs import StepCount, plant_seconds, training_costs
from leakscope.studies.study_directory import STEPS
from leakscope.studies.updates.update_pairs import UpdateCase, UpdatePair, UpdatePairs
from leakscope.studies.updates.update_plan import trainings_of
from leakscope.studies.updates.update_steps import diff_step
from leakscope.studies.updates.update_study import UpdateStudyJob, diff_settings

NOT_RANKED = "The ranks of canaries are not counted; each may take seconds."


def update_forecast(job: UpdateStudyJob, out: Path | None) -> Forecast:
    """Of `study updates` in `out`, where an earlier one may have left steps."""
    kept = _KeptSteps(job, None if out is None else out / STEPS)
    corpus, seeds = job.corpus, len(job.settings.seeds)
    costs = {each.name: training_costs(corpus, each.settings) for each in job.trainings}
    planned = list(trainings_of(job.cases(), job.settings, corpus.manifest.train.words))
    trainings = sum(
        costs[each.training.name].seconds * each.share * each.epochs / each.training.settings.epochs
        for each in planned
    )
    plants = 0 if set(job.settings.scenarios) == {"delete"} else len(job.settings.insertions)
    model = untrained(corpus, job.trainings[0].settings)
    other = untrained(corpus, replace(job.trainings[0].settings, seed=1))
    pair = OpenedPair(Snapshot("old", "old", model), Snapshot("new", "new", other))
    searched = pair_stages(pair, 2 * corpus.manifest.train.words, job.diff)
    count = len(planned)
    disk = sum(each.forecast.disk or 0 for each in costs.values()) * count * seeds
    return Forecast(
        stages=(
            StepCount("plant", seeds * plants, kept.of("plant")).stage(
                plant_seconds(corpus, job.plant) if plants else 0.0
            ),
            StepCount("train", seeds * count, kept.of("train")).stage(trainings / max(1, count)),
            StepCount("diff", job.total, kept.of("diff")).stage(
                sum(stage.seconds or 0.0 for stage in searched)
            ),
        ),
        memory=peak_memory(),
        disk=disk,
        notes=(NOT_RANKED, "Corpora that are made of parts come on top; a build is short."),
    )


class _MissingError(Exception):
    """Not an error: a step is not kept, and nothing behind it can be looked for."""


class _KeptSteps:
    """Goes through the steps of a study as far as there are results to go on from."""

    def __init__(self, job: UpdateStudyJob, folder: Path | None) -> None:
        self._job, self._names = job, set[str]()
        if folder is None:
            return
        self._kept = KeptResults(folder, lambda: 0.0)
        for seed in job.settings.seeds:
            self._seed(seed)

    def of(self, kind: str) -> int:
        """How many steps of a kind are kept."""
        return sum(name.startswith(f"{kind}-") for name in self._names)

    def _find(self, step: Step) -> Path:
        path = self._kept.find(step)
        if path is None:
            raise _MissingError
        self._names.add(step.name)
        return path

    def _seed(self, seed: int) -> None:
        job = self._job
        pairs = UpdatePairs(job.settings, seed, self._find, silent)
        try:
            text = pairs.text(job.corpus, job.plant, job.trainings)
        except _MissingError:
            return
        for case in job.cases():
            try:
                self._measurements(case, pairs.pair(case, text))
            except _MissingError:
                continue

    def _measurements(self, case: UpdateCase, pair: UpdatePair) -> None:
        for top_k, known in self._job.measurements(case):
            settings = diff_settings(self._job, pair, top_k, known)
            path = self._kept.find(step := diff_step(pair.old, pair.new, settings, silent))
            if path is not None:
                self._names.add(step.name)
