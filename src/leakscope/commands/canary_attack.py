"""`canary attack`."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.measuring import described, measured_subject
from leakscope.canaries.canary_settings import AttackSettings
from leakscope.canaries.reconstruction import UNKNOWN_WORD, attack_canaries
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import write_sealed
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.canaries.canary_tables import write_rows
from leakscope.records.canaries.exposure_record import AttackReport, CanaryAttack
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.canary_page import write_attack_page

TABLE, REPORT, PAGE = "attack.parquet", "attack.json", "attack.html"


@takes_options_of("canary attack")
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
    with claimed(Path(out), "canary attack") as claim:
        claim.clear((TABLE, PAGE, SEAL, REPORT), keep=(".answers",))
        with measured_subject(
            access,
            manifest,
            access.answers or claim.path / ".answers",
            progress,
            other_corpus=asked.other_corpus,
        ) as subject:
            found = attack_canaries(subject.model, manifest, asked, progress)
        unknown = sum(each.reason == UNKNOWN_WORD for each in found.canaries)
        report = AttackReport(
            **described(subject, manifest, asdict(asked)),
            warnings=[f"{unknown} canaries have a word that the model does not know."]
            if unknown
            else [],
            rates=found.rates,
        )
        write_rows(claim.path / TABLE, found.canaries, CanaryAttack)
        write_attack_page(report, claim.path / PAGE)
        write_sealed(claim.path / REPORT, report, (TABLE, PAGE))
        claim.clear((".answers",), keep=(TABLE, PAGE, SEAL, REPORT))
    return report
