"""The directory of a study of mitigations: its tables, and its description."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.engine.progress import Progress
from leakscope.records.studies.study_record import (
    StudyAttack,
    StudyExposure,
    StudyImpact,
    StudyRecord,
    StudyResult,
)
from leakscope.reporting.pages.study_page import write_study_page
from leakscope.studies.kept_results import Clock, KeptResults
from leakscope.studies.mitigation_job import StudyJob
from leakscope.studies.mitigation_study import MitigationStudy, StudyTables
from leakscope.studies.study_directory import ONE_SEED, StudyKind, StudyTable
from leakscope.studies.study_summary import repetition_rows, summary_rows

RESULTS, EXPOSURE, ATTACK, IMPACT = (
    "results.parquet", "exposure.parquet", "attack.parquet", "impact.parquet",
)  # fmt: skip
COMMAND = "study mitigations"
KIND = StudyKind(
    COMMAND, "a study", StudyRecord, (RESULTS, EXPOSURE, ATTACK, IMPACT), write_study_page
)


def study_into(job: StudyJob, out: Path, progress: Progress, clock: Clock) -> StudyRecord:
    """Make what is missing of a study in `out`; see `StudyKind.into`."""

    def fill(kept: KeptResults) -> tuple[StudyRecord, list[StudyTable]]:
        tables = MitigationStudy(job, kept, progress).run()
        return _record(job, tables), [
            StudyTable(RESULTS, tables.results, StudyResult),
            StudyTable(EXPOSURE, tables.exposure, StudyExposure),
            StudyTable(ATTACK, tables.attack, StudyAttack),
            StudyTable(IMPACT, tables.impact, StudyImpact),
        ]

    return KIND.into(out, clock, progress, fill)


def _record(job: StudyJob, tables: StudyTables) -> StudyRecord:
    rows = summary_rows(tables)
    return StudyRecord(
        versions={name: version(name) for name in ("leakscope", "torch", "scipy", "numpy")},
        corpus_digest=job.corpus.manifest.digest,
        settings=_plain(job),
        trainings=[each.described() for each in job.trainings],
        baseline=job.baseline.name,
        targets=list(tables.targets),
        targets_from=tables.targets_from,
        rows=rows,
        by_repetitions=repetition_rows(tables),
        results=tables.results,
        warnings=_warnings(job, [(row.training, row.target, row.seeds - row.reached)
                                 for row in rows]),
    )  # fmt: skip


def _warnings(job: StudyJob, missed: Sequence[tuple[str, float, int]]) -> list[str]:
    lines = [
        f"{training} did not reach perplexity {target:g} with {seeds} of "
        f"{len(job.settings.seeds)} seeds."
        for training, target, seeds in missed
        if seeds
    ]
    if len(job.settings.seeds) == 1:
        lines.append(ONE_SEED)
    return lines


def _plain(job: StudyJob) -> dict[str, Any]:
    """All settings but the trainings' own, which are listed with them."""
    found = asdict(job.settings) | {
        "plant": asdict(job.plant), "exposure": asdict(job.exposure), "attack": asdict(job.attack),
    }  # fmt: skip
    path = job.settings.trainings
    return found | {"trainings": None if path is None else path.name}
