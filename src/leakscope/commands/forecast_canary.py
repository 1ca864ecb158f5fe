"""`canary exposure --dry-run` and `canary attack --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.forecasting.canary_forecast import attack_forecast, exposure_forecast
from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import free_output, local_output
from leakscope.commands.signatures import takes_options_of
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.runs.work_forecast import Forecast


@takes_options_of("canary exposure")
def canary_exposure(
    model: str | os.PathLike[str],
    canaries: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What `canary exposure` would take, from a few seconds of scoring. What a killed
    one has left in `out` is not counted again.
    """
    given = Given("canary exposure", settings, options)
    asked, access = given.make(ExposureSettings), access_of(given, model)
    free_output(out, "canary exposure")
    manifest = CanaryManifest.load(Path(canaries))
    return exposure_forecast(access, manifest, asked, local_output(out))


@takes_options_of("canary attack")
def canary_attack(
    model: str | os.PathLike[str],
    canaries: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What `canary attack` would take, from attacks on a few canaries. What a killed
    one has left in `out` is not counted again.
    """
    given = Given("canary attack", settings, options)
    asked, access = given.make(AttackSettings), access_of(given, model)
    free_output(out, "canary attack")
    manifest = CanaryManifest.load(Path(canaries))
    return attack_forecast(access, manifest, asked, local_output(out))
