"""Measure a model on canaries, and write the result into a directory of its own."""

from dataclasses import asdict
from pathlib import Path

from leakscope.auditing.canaries.measuring import ModelAccess, described, measured_subject
from leakscope.auditing.integrity.kept_work import let_go, take_up
from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings
from leakscope.canaries.exposure_run import measure_exposure
from leakscope.canaries.reconstruction import UNKNOWN_WORD, attack_canaries
from leakscope.engine.progress import Progress
from leakscope.records.artifacts import write_sealed
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.canaries.exposure_record import (
    AttackReport,
    CanaryAttack,
    CanaryExposure,
    ExposureReport,
)
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.records.tables.row_tables import write_rows
from leakscope.reporting.pages.canary_page import write_attack_page, write_exposure_page

EXPOSURE_TABLE, EXPOSURE_REPORT, EXPOSURE_PAGE = (
    "exposure.parquet", "exposure.json", "exposure.html",
)  # fmt: skip
ATTACK_TABLE, ATTACK_REPORT, ATTACK_PAGE = "attack.parquet", "attack.json", "attack.html"
ANSWERS = ".answers"


def write_exposure(
    access: ModelAccess,
    manifest: CanaryManifest,
    settings: ExposureSettings,
    out: Path,
    progress: Progress,
) -> ExposureReport:
    """Measure the exposure of all canaries: a table, a page and a report in `out`."""
    written = (EXPOSURE_TABLE, EXPOSURE_PAGE, SEAL, EXPOSURE_REPORT)
    with claimed(out, "canary exposure") as claim:
        take_up(claim, written, also=(ANSWERS,))
        with measured_subject(
            access,
            manifest,
            access.answers or claim.path / ANSWERS,
            progress,
            other_corpus=settings.other_corpus,
        ) as subject:
            kept = subject.kept_in(claim.path, progress)
            found = measure_exposure(subject.model, manifest, settings, progress, kept)
        report = ExposureReport(
            **described(subject, manifest, asdict(settings)),
            warnings=found.warnings,
            spaces=found.spaces,
            by_repetitions=found.by_repetitions,
        )
        write_rows(claim.path / EXPOSURE_TABLE, found.canaries, CanaryExposure)
        write_exposure_page(report, claim.path / EXPOSURE_PAGE)
        write_sealed(claim.path / EXPOSURE_REPORT, report, (EXPOSURE_TABLE, EXPOSURE_PAGE))
        let_go(claim, written, also=(ANSWERS,))
    return report


def write_attack(
    access: ModelAccess,
    manifest: CanaryManifest,
    settings: AttackSettings,
    out: Path,
    progress: Progress,
) -> AttackReport:
    """Attack all canaries by Tab: a table, a page and a report in `out`."""
    written = (ATTACK_TABLE, ATTACK_PAGE, SEAL, ATTACK_REPORT)
    with claimed(out, "canary attack") as claim:
        take_up(claim, written, also=(ANSWERS,))
        with measured_subject(
            access,
            manifest,
            access.answers or claim.path / ANSWERS,
            progress,
            other_corpus=settings.other_corpus,
        ) as subject:
            kept = subject.kept_in(claim.path, progress)
            found = attack_canaries(subject.model, manifest, settings, progress, kept)
        unknown = sum(each.reason == UNKNOWN_WORD for each in found.canaries)
        report = AttackReport(
            **described(subject, manifest, asdict(settings)),
            warnings=[f"{unknown} canaries have a word that the model does not know."]
            if unknown
            else [],
            rates=found.rates,
        )
        write_rows(claim.path / ATTACK_TABLE, found.canaries, CanaryAttack)
        write_attack_page(report, claim.path / ATTACK_PAGE)
        write_sealed(claim.path / ATTACK_REPORT, report, (ATTACK_TABLE, ATTACK_PAGE))
        let_go(claim, written, also=(ANSWERS,))
    return report
