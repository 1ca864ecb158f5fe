"""`canary exposure`."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.measuring import described, measured_subject
from leakscope.canaries.canary_settings import ExposureSettings
from leakscope.canaries.exposure_run import measure_exposure
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import write_sealed
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.canaries.canary_tables import write_rows
from leakscope.records.canaries.exposure_record import CanaryExposure, ExposureReport
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.canary_page import write_exposure_page

TABLE, REPORT, PAGE = "exposure.parquet", "exposure.json", "exposure.html"
ENDPOINT_SAMPLES = 1000


@takes_options_of("canary exposure")
def exposure(
    model: str | os.PathLike[str],
    canaries: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> ExposureReport:
    """Measure the exposure of the canaries that `canary plant` put into the directory `canaries`,
    and write `exposure.parquet` (one row for each canary), `exposure.json` and a page into `out`.
    """
    given = Given("canary exposure", settings, options)
    asked, access = given.make(ExposureSettings), access_of(given, model)
    if access.endpoint is not None and not given.has("samples"):  # each costs a request
        asked = replace(asked, samples=ENDPOINT_SAMPLES, exact_up_to=ENDPOINT_SAMPLES)
    manifest = CanaryManifest.load(Path(canaries))
    with claimed(Path(out), "canary exposure") as claim:
        claim.clear((TABLE, PAGE, SEAL, REPORT), keep=(".answers",))
        with measured_subject(
            access,
            manifest,
            access.answers or claim.path / ".answers",
            progress,
            other_corpus=asked.other_corpus,
        ) as subject:
            found = measure_exposure(subject.model, manifest, asked, progress)
        report = ExposureReport(
            **described(subject, manifest, asdict(asked)),
            warnings=found.warnings,
            spaces=found.spaces,
            by_repetitions=found.by_repetitions,
        )
        write_rows(claim.path / TABLE, found.canaries, CanaryExposure)
        write_exposure_page(report, claim.path / PAGE)
        write_sealed(claim.path / REPORT, report, (TABLE, PAGE))
        claim.clear((".answers",), keep=(TABLE, PAGE, SEAL, REPORT))
    return report
