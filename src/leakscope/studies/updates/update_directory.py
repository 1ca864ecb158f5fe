"""The directory of a study of updates: its tables, and its description."""

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.engine.progress import Progress
from leakscope.records.studies.update_study_record import (
    CanaryResult,
    UpdateResult,
    UpdateStudyRecord,
)
from leakscope.reporting.pages.update_study_page import write_update_study_page
from leakscope.studies.kept_results import Clock, KeptResults
from leakscope.studies.study_directory import ONE_SEED, StudyKind, StudyTable
from leakscope.studies.updates.update_study import UpdateStudy, UpdateStudyJob, UpdateTables
from leakscope.studies.updates.update_summary import canary_rows, found_rows

RESULTS, FOUND = "results.parquet", "found.parquet"
COMMAND = "study updates"
KIND = StudyKind(
    COMMAND, "a study of updates", UpdateStudyRecord, (RESULTS, FOUND), write_update_study_page
)


def update_study_into(
    job: UpdateStudyJob, out: Path, progress: Progress, clock: Clock
) -> UpdateStudyRecord:
    """Make what is missing of a study in `out`; see `StudyKind.into`."""

    def fill(kept: KeptResults) -> tuple[UpdateStudyRecord, list[StudyTable]]:
        tables = UpdateStudy(job, kept, progress).run()
        return _record(job, tables), [
            StudyTable(RESULTS, tables.canaries, CanaryResult),
            StudyTable(FOUND, tables.searches, UpdateResult),
        ]

    return KIND.into(out, clock, progress, fill)


def _record(job: UpdateStudyJob, tables: UpdateTables) -> UpdateStudyRecord:
    return UpdateStudyRecord(
        versions={name: version(name) for name in ("leakscope", "torch", "numpy")},
        corpus_digest=job.corpus.manifest.digest,
        settings=_plain(job),
        trainings=[each.described() for each in job.trainings],
        rows=canary_rows(tables.canaries),
        found=found_rows(tables.searches),
        warnings=_warnings(job, tables),
    )


def _plain(job: UpdateStudyJob) -> dict[str, Any]:
    """All settings but the trainings' own, which are listed with them; paths by their names."""
    found = asdict(job.settings) | {"plant": asdict(job.plant), "diff": asdict(job.diff)}
    named = {name: value.name for name, value in found.items() if isinstance(value, Path)}
    return found | named


def _warnings(job: UpdateStudyJob, tables: UpdateTables) -> list[str]:
    lines = []
    missing = sum(each.score is None for each in tables.canaries)
    if missing:
        lines.append(f"{missing} canaries have a word that a model does not know, and no score.")
    if len(job.settings.seeds) == 1:
        lines.append(ONE_SEED)
    return lines
