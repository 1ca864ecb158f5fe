"""`harden`."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leakscope.auditing.block_list_building import block_list
from leakscope.commands.command_settings import HardenSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.hardening.hardened_points import HardenedPoint, harden_run
from leakscope.records.artifacts import write_sealed
from leakscope.records.output_claim import claimed
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.harden_page import write_hardening

BLOCK_LIST = "blocklist.bloom"
CURVES = "harden.json"
PAGE = "harden.html"
HARDEN_FILES = (BLOCK_LIST, PAGE, SEAL, CURVES)


@takes_options_of("harden")
def harden(
    run: str | os.PathLike[str],
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> list[HardenedPoint]:
    """Curves over confidence thresholds and top-k from what `run` has stored, and a block list of
    its unique sequences, into the directory `out`.
    """
    asked = Given("harden", settings, options).make(HardenSettings)
    source, target = Path(run), Path(out)
    opened = Corpus.open(Path(corpus))
    runs = () if asked.no_block_list else (source, *asked.also)
    for each in runs[1:]:
        open_run(each)
    with claimed(target, "harden") as claim:
        claim.clear(HARDEN_FILES)
        points = harden_run(
            source, opened, asked.thresholds, threads=asked.threads, progress=progress
        )
        if any(open_run(each)[1].unique_sequences for each in runs):
            progress("block list", 0, 1)
            block_list(
                source,
                opened.path,
                target / BLOCK_LIST,
                more=asked.also,
                rate=asked.block_list_rate,
                threads=asked.threads,
            )
            progress("block list", 1, 1)
        rows = [asdict(point) for point in points]
        write_hardening(source, rows, target)
        made = [name for name in (BLOCK_LIST, PAGE) if (target / name).exists()]
        write_sealed(target / CURVES, {"points": rows}, made)
    return points
