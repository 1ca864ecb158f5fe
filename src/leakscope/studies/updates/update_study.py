"""`study updates`: what updates of a model give away, under which conditions."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leakscope.auditing.updates.diff_run import FOUND, RECORD, SCORES
from leakscope.canaries.canary_settings import PlantSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.engine.step_progress import StepProgress
from leakscope.engine.time_left import expect
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import architecture_record, load_config
from leakscope.records.artifacts import read_json, read_parquet
from leakscope.records.errors import LeakscopeError
from leakscope.records.studies.update_study_record import CanaryResult, UpdateResult
from leakscope.records.updates.diff_record import DiffReport
from leakscope.studies.kept_results import KeptResults, Step
from leakscope.studies.planned_training import PlannedTraining
from leakscope.studies.updates.update_pairs import UpdateCase, UpdatePair, UpdatePairs
from leakscope.studies.updates.update_plan import update_name, update_stages
from leakscope.studies.updates.update_settings import UpdateStudySettings
from leakscope.studies.updates.update_steps import diff_step, last_perplexity
from leakscope.updates.diff_settings import DiffSettings
from leakscope.updates.differential_rank import TIE

TOP = 10
"""Sequences of the greatest length that count as the top of a search."""
_FOUND = (
    "found", "best_score", "in_difference_found", "one_user_found", "one_user_longest",
    "users_found",
)  # fmt: skip
_SCORED = (
    "known", "frequency", "length", "score", "relative_score", "rank", "rank_method", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class UpdateStudyJob:
    """Which updates of models of which corpus, and how they are measured."""

    corpus: Corpus
    trainings: tuple[PlannedTraining, ...]
    settings: UpdateStudySettings
    plant: PlantSettings
    diff: DiffSettings

    def __post_init__(self) -> None:
        public = self.settings.public_model
        if public is not None:
            known = load_config(public).architecture
            for each in self.trainings:
                _require_architecture(each.settings.architecture, known, each.name)

    def cases(self) -> Iterator[UpdateCase]:
        """The updates of one seed."""
        for training in self.trainings:
            for scenario in self.settings.scenarios:
                deletes = scenario == "delete"
                for times in (0,) if deletes else self.settings.insertions:
                    for extra in self.settings.extra:
                        if extra or scenario != "two-stage":
                            yield UpdateCase(scenario, training, times, extra)

    def measurements(self, case: UpdateCase) -> Iterator[tuple[int | None, int]]:
        """(top k, known words) of each measurement of an update."""
        for top_k in (None, *self.settings.top_k):
            for known in self.settings.known if case.insertions else (0,):
                yield top_k, known

    @property
    def total(self) -> int:
        """Measurements in all."""
        of_seed = sum(1 for case in self.cases() for _ in self.measurements(case))
        return len(self.settings.seeds) * of_seed


def _require_architecture(mine: Architecture, public: dict[str, Any], name: str) -> None:
    if architecture_record(mine) != public:
        raise LeakscopeError(
            f"--public-model has another architecture than the training {name}; choose the same."
        )


@dataclass
class UpdateTables:
    """All that a study has measured."""

    canaries: list[CanaryResult] = field(default_factory=list)
    searches: list[UpdateResult] = field(default_factory=list)


class UpdateStudy:
    """Makes what is missing, step by step, and gathers the results."""

    def __init__(self, job: UpdateStudyJob, kept: KeptResults, progress: Progress) -> None:
        self._job, self._kept, self._progress = job, kept, StepProgress(progress)
        words = job.corpus.manifest.train.words
        expect(progress, update_stages(job.cases(), job.settings, words))
        self._outer, self._done = progress, 0
        self.tables = UpdateTables()

    def run(self) -> UpdateTables:
        """All of it."""
        job = self._job
        cases = list(job.cases())
        for number, seed in enumerate(job.settings.seeds):
            self._progress.begin(update_name(number * len(cases)))
            pairs = UpdatePairs(job.settings, seed, self._make, self._progress)
            text = pairs.text(job.corpus, job.plant, job.trainings)
            for place, case in enumerate(cases):
                if place:
                    self._progress.begin(update_name(number * len(cases) + place))
                self._measure(seed, case, pairs.pair(case, text))
                self._progress.end()
        self._tell("")
        return self.tables

    def _tell(self, note: str) -> None:
        self._outer("study", self._done, self._job.total, note)

    def _make(self, step: Step) -> Path:
        self._tell(step.kind)
        return self._kept[step]

    def _measure(self, seed: int, case: UpdateCase, pair: UpdatePair) -> None:
        searched = set()
        for top_k, known in self._job.measurements(case):
            settings = diff_settings(self._job, pair, top_k, known)
            path = self._make(diff_step(pair.old, pair.new, settings, self._progress))
            self._done += 1
            more = {
                "scenario": case.scenario,
                "training": case.training.name,
                "insertions": case.insertions or None,
                "extra": case.extra,
                "top_k": top_k,
                "seed": seed,
            }
            self.tables.canaries += canary_results(path, more)
            if top_k not in searched:  # what is known of canaries does not change the search
                searched.add(top_k)
                users = self._job.settings.deleted_users if pair.deleted else None
                self.tables.searches.append(
                    search_result(path, pair, more | {"deleted_users": users})
                )


def diff_settings(
    job: UpdateStudyJob, pair: UpdatePair, top_k: int | None, known: int
) -> DiffSettings:
    """How the two models of an update are compared in one measurement."""
    return replace(
        job.diff,
        top_k=top_k,
        known=known,
        canaries=pair.canaries,
        deleted=pair.deleted,
        old_corpus=pair.old_corpus,
        new_corpus=pair.new_corpus,
    )


def canary_results(path: Path, more: dict[str, Any]) -> list[CanaryResult]:
    """The canaries of a diff, planted or not, with further columns."""
    rows = [row for row in read_parquet(path / SCORES).to_pylist() if row["canary"]]
    planted = [row for row in rows if row["state"] == "planted"]
    return [
        CanaryResult(
            canary=row["number"],
            planted=row["state"] == "planted",
            rank_apart=_rank_apart(row, planted),
            **{name: row[name] for name in _SCORED},
            **more,
        )
        for row in rows
    ]


def _rank_apart(row: dict[str, Any], rows: list[dict[str, Any]]) -> int | None:
    """The rank without the other canaries. Behind known words they do not compete."""
    rank: int | None = row["rank"]
    if rank is None or row["known"]:
        return rank
    bar = row["entry_score"] + TIE * row["length"]
    alike = [each["entry_score"] for each in rows if each["length"] == row["length"]]
    return max(0, rank - sum(1 for score in alike if score is not None and score > bar))


def search_result(path: Path, pair: UpdatePair, more: dict[str, Any]) -> UpdateResult:
    """What a diff found, with further columns."""
    metrics = read_json(path / RECORD, DiffReport, "a diff").metrics
    return UpdateResult(
        old_perplexity=last_perplexity(pair.old),
        new_perplexity=last_perplexity(pair.new),
        top_one_user=_top_share(read_parquet(path / FOUND).to_pylist()),
        **{name: getattr(metrics, name) for name in _FOUND},
        **more,
    )


def _top_share(found: list[dict[str, Any]]) -> float | None:
    """How many of the best sequences of the greatest length belong to one user alone."""
    longest = max((row["length"] for row in found), default=0)
    top = [row["one_user"] for row in found if row["length"] == longest and row["place"] <= TOP]
    return sum(top) / len(top) if top else None
