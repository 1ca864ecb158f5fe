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
from leakscope.records.output_claim import claimed, remove
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.harden_page import write_hardening

BLOCK_LIST, CURVES, PAGE = "blocklist.bloom", "harden.json", "harden.html"
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
    for each in () if asked.no_block_list else asked.also:
        open_run(each)
    with claimed(target, "harden") as claim:
        claim.clear(HARDEN_FILES)
        try:
            return _harden(source, opened, target, asked, progress)
        except BaseException:
            for name in HARDEN_FILES:  # half of it serves nobody
                remove(target / name)
            raise


def _harden(
    run: Path, corpus: Corpus, out: Path, asked: HardenSettings, progress: Progress
) -> list[HardenedPoint]:
    runs = () if asked.no_block_list else (run, *asked.also)
    points = harden_run(run, corpus, asked.thresholds, threads=asked.threads, progress=progress)
    if any(open_run(each)[1].unique_sequences for each in runs):
        progress("block list", 0, 1)
        block_list(
            run,
            corpus.path,
            out / BLOCK_LIST,
            more=asked.also,
            rate=asked.block_list_rate,
            threads=asked.threads,
        )
        progress("block list", 1, 1)
    rows = [asdict(point) for point in points]
    write_hardening(run, rows, out)
    made = [name for name in (BLOCK_LIST, PAGE) if (out / name).exists()]
    interface = open_run(run)[1].interface
    write_sealed(out / CURVES, {"interface": interface, "points": rows}, made)
    return points
