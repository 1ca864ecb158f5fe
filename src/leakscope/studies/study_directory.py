"""The directory of a study: taken up again, filled with what is missing, described and sealed."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.engine.progress import Progress
from leakscope.records.artifacts import read_json, write_sealed
from leakscope.records.output_claim import MARKER, claimed
from leakscope.records.received_files import refuse_special_files
from leakscope.records.seal import SEAL
from leakscope.records.studies.study_record import (
    StudyAttack,
    StudyExposure,
    StudyImpact,
    StudyRecord,
    StudyResult,
    StudyTraining,
)
from leakscope.records.tables.row_tables import write_rows
from leakscope.reporting.pages.study_page import write_study_page
from leakscope.studies.kept_results import Clock, KeptResults
from leakscope.studies.mitigation_study import MitigationStudy, StudyJob, StudyTables
from leakscope.studies.study_summary import repetition_rows, summary_rows

STEPS, RECORD, PAGE = "steps", "study.json", "study.html"
RESULTS, EXPOSURE, ATTACK, IMPACT = (
    "results.parquet", "exposure.parquet", "attack.parquet", "impact.parquet",
)  # fmt: skip
FILES = (PAGE, RESULTS, EXPOSURE, ATTACK, IMPACT)
COMMAND = "study mitigations"


def study_into(job: StudyJob, out: Path, progress: Progress, clock: Clock) -> StudyRecord:
    """Make what is missing of a study in `out`: a new directory, or one of an earlier study or of
    one that was killed.
    """
    recognised = _is_study(out)
    with claimed(out, COMMAND, recognised=recognised) as claim:
        claim.clear(keep=(STEPS, RECORD, SEAL, *FILES))
        steps = out / STEPS
        claim.sweep([steps] if steps.is_dir() else [])
        kept = KeptResults(steps, clock)
        tables = MitigationStudy(job, kept, progress).run()
        record = _record(job, tables)
        write_rows(out / RESULTS, tables.results, StudyResult)
        write_rows(out / EXPOSURE, tables.exposure, StudyExposure)
        write_rows(out / ATTACK, tables.attack, StudyAttack)
        write_rows(out / IMPACT, tables.impact, StudyImpact)
        write_study_page(record, out / PAGE)
        said = sorted(f"{STEPS}/{path.name}" for path in steps.glob("*.json"))
        write_sealed(out / RECORD, record, [*FILES, *said])
    return record


def _is_study(out: Path) -> bool:
    """Whether `out` is a finished study of ours."""
    if not (out / RECORD).is_file() or (out / MARKER).exists():
        return False
    refuse_special_files(out)
    read_json(out / RECORD, StudyRecord, "a study")
    return True


def _record(job: StudyJob, tables: StudyTables) -> StudyRecord:
    rows = summary_rows(tables)
    return StudyRecord(
        versions={name: version(name) for name in ("leakscope", "torch", "scipy", "numpy")},
        corpus_digest=job.corpus.manifest.digest,
        settings=_plain(job),
        trainings=[
            StudyTraining(
                name=each.name, mitigation=each.mitigation, settings=each.settings.shareable()
            )
            for each in job.trainings
        ],
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
        lines.append(
            "There is one seed, so that nothing tells how far chance goes in training; add more by "
            "--seed."
        )
    return lines


def _plain(job: StudyJob) -> dict[str, Any]:
    """All settings but the trainings' own, which are listed with them."""
    found = asdict(job.settings) | {
        "plant": asdict(job.plant), "exposure": asdict(job.exposure), "attack": asdict(job.attack),
    }  # fmt: skip
    path = job.settings.trainings
    return found | {"trainings": None if path is None else path.name}
