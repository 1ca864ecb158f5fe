"""`harden` and `suggest`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from leakscope.auditing.block_list_building import block_list
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.hardening.actions import Suggestions
from leakscope.leakage.hardening.actions import suggest as suggest_actions
from leakscope.leakage.hardening.hardened_points import THRESHOLDS, HardenedPoint, harden_run
from leakscope.records.artifacts import fresh_directory, write_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.run import open_run
from leakscope.reporting.pages.harden_page import write_hardening

BLOCK_LIST = "blocklist.bloom"


def harden(
    run: Path,
    corpus: Path,
    out: Path,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    rate: float | None = 0.001,
    also: Sequence[Path] = (),
    threads: int = 2,
    progress: Progress = silent,
) -> list[HardenedPoint]:
    """Curves over confidence thresholds and top-k from what `run` has stored, and a block list
    with a false-positive `rate` (None: no list), into the directory `out`. The list holds what is
    unique in the runs `also` too: behind a block list, other words move up.
    """
    opened = Corpus.open(corpus)
    check_rate(rate)
    if rate is not None:
        for other in also:
            open_run(other)
    points = harden_run(run, opened, thresholds, threads=threads, progress=progress)
    fresh_directory(out)
    if rate is not None and any(open_run(each)[1].unique_sequences for each in (run, *also)):
        progress("block list", 0, 1)
        block_list(run, corpus, out / BLOCK_LIST, more=also, rate=rate, threads=threads)
        progress("block list", 1, 1)
    write_json(out / "harden.json", {"points": [asdict(point) for point in points]})
    write_hardening(run, [asdict(point) for point in points], out)
    return points


def check_rate(rate: float | None) -> None:
    """Refuse a false-positive rate that no list can have."""
    if rate is not None and not 0 < rate < 1:
        raise LeakscopeError("The block list's rate must lie between 0 and 1.")


def suggest(run: Path, out: Path | None = None, *, most: int = 20) -> Suggestions:
    """An action list from a report; with `out`, also as JSON."""
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise LeakscopeError(f"{out} cannot be written; name a file in a folder that is there.")
    found = suggest_actions(run, most)
    if out is not None:
        write_json(out, asdict(found))
    return found
