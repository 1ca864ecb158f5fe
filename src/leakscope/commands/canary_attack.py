"""`canary attack`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.canary_results import write_attack
from leakscope.canaries.canary_settings import AttackSettings
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import read_json
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.canaries.exposure_record import AttackReport
from leakscope.records.errors import LeakscopeError


@takes_options_of(
    "canary attack", again=lambda out: read_json(out / "attack.json", AttackReport, "an attack")
)
def attack(
    model: str | os.PathLike[str],
    canaries: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> AttackReport:
    """Give the model the first words of each canary of the directory `canaries`, and write how many
    it completes into `out`: `attack.parquet`, `attack.json` and a page.
    """
    given = Given("canary attack", settings, options)
    asked, access = given.make(AttackSettings), access_of(given, model)
    if access.endpoint is not None and access.endpoint.mode == "text" and asked.beam > 1:
        raise LeakscopeError("A text-only endpoint shows its best continuation: leave out --beam.")
    manifest = CanaryManifest.load(Path(canaries))
    return write_attack(access, manifest, asked, Path(out), progress)
