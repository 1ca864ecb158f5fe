"""`canary exposure`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.canary_results import write_exposure
from leakscope.canaries.canary_settings import ExposureSettings
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import read_json
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.canaries.exposure_record import ExposureReport

ENDPOINT_SAMPLES = 1000


@takes_options_of(
    "canary exposure",
    again=lambda out: read_json(out / "exposure.json", ExposureReport, "an exposure"),
)
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
    return write_exposure(access, manifest, asked, Path(out), progress)
