"""The trial of kills: 100 of them, and as many Ctrl-C as there is time for."""

import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials.forked import Ended, Interruption, command, forked
from trials.kills.commands import Killed, commands, differences, left_over
from trials.kills.moments import Boundary, counting, killed_at
from trials.material import Material, content, done, still
from trials.outcomes import Outcome, Verdict

COUNT = 140
"""Kills (five in seven) and Ctrl-C (two in seven)."""
FOREIGN = (
    ".work/thesis.txt",
    "shards/thesis.txt",
    ".thesis.txt.77-0badc0de.leakscope",
    "thesis.txt",
)
INTERRUPTED = "leakscope: Interrupted"
Work = Callable[[], Any]


@dataclass(frozen=True)
class Quiet:
    """An undisturbed run of a command: its folder, its time, its calls at boundaries."""

    folder: Path
    seconds: float
    calls: int


def kills(seed: int, count: int = COUNT) -> Iterator[Outcome]:
    """So many kills and interruptions over all commands, in turn."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="trial-kills-") as name:
        root = Path(name)
        made, case = Material(root / "made"), root / "case"
        chosen = commands(made)
        quiet = {each.name: _quiet(each, case, root / each.name) for each in chosen[:count]}
        inputs = content(root / "made")
        for place in range(count):
            killed = chosen[place % len(chosen)]
            turn = place // len(chosen) % 7
            yield _tried(killed, quiet[killed.name], case, turn, draw)
            shutil.rmtree(case)
        if content(root / "made") != inputs:
            yield Outcome("inputs", "inputs", Verdict.REMOVED, "an input was changed")


def _quiet(killed: Killed, case: Path, kept: Path) -> Quiet:
    """Run a command undisturbed, twice: its results must be the same, or comparing means nothing.
    All runs are made in the same place, since manifests name it.
    """
    first = kept.with_name(f"{kept.name} at first")
    _foreign(case)
    done(*killed.arguments(case))
    case.rename(first)
    _foreign(case)
    with tempfile.TemporaryFile() as counter:
        ended = forked(counting(still(command(*killed.arguments(case))), counter.fileno()))
        calls = os.fstat(counter.fileno()).st_size
    case.rename(kept)
    if ended.code != 0:
        raise RuntimeError(f"{killed.name} ended with {ended.code}: {ended.err}")
    if found := differences(killed, kept, first) + left_over(kept, first):
        raise RuntimeError(f"two quiet runs of {killed.name} differ: {found}")
    return Quiet(kept, ended.seconds, calls)


def _tried(killed: Killed, quiet: Quiet, case: Path, turn: int, draw: random.Random) -> Outcome:
    """Kill or interrupt one run, and see what the same command makes of what it left."""
    work = still(command(*killed.arguments(case)))
    _foreign(case)
    before = {name: (case / name).read_bytes() for name in FOREIGN}
    if turn < 3:
        boundary = Boundary(draw.randrange(quiet.calls), draw.random() < 0.5)
        name = f"killed {'after' if boundary.after else 'before'} call {boundary.call}"
        first = forked(killed_at(work, boundary))
    else:
        number = signal.SIGKILL if turn < 5 else signal.SIGINT
        name, first = _in_time(work, case, Interruption(draw.random() * quiet.seconds, number))
        wrong = _wrong_interruption(first) if number == signal.SIGINT else None
        if wrong is not None:
            return Outcome(killed.name, name, *wrong)
    if first.code is None:
        return Outcome(killed.name, name, Verdict.HANG)
    verdict, detail = _again(killed, quiet, case, first, touched=draw.random() < 0.25)
    if {name: (case / name).read_bytes() for name in FOREIGN if (case / name).exists()} != before:
        verdict, detail = Verdict.REMOVED, "a file beside the output is gone"
    return Outcome(killed.name, name, verdict, detail)


def _in_time(work: Work, case: Path, sent: Interruption) -> tuple[str, Ended]:
    """Interrupt the work; sooner, if it was too quick."""
    first = forked(work, interruption=sent)
    for _ in range(3):
        if first.code != 0:
            break
        shutil.rmtree(case)
        _foreign(case)
        sent = Interruption(sent.after / 2, sent.number)
        first = forked(work, interruption=sent)
    return f"{signal.Signals(sent.number).name} after {sent.after:.3f} s", first


def _again(
    killed: Killed, quiet: Quiet, case: Path, first: Ended, *, touched: bool
) -> tuple[Verdict, str]:
    """Give the command again, and compare with the quiet run. `touched`: somebody has put a file of
    theirs into the directory in the meantime.
    """
    finished = first.code == 0
    if not finished and touched and (case / "out").is_dir():
        mine = case / "out" / "thesis.txt"
        mine.write_text("mine")
        ended = forked(still(command(*killed.arguments(case))))
        if not mine.exists() or mine.read_text() != "mine":
            return Verdict.REMOVED, "a file in the output is gone"
        mine.unlink()
        finished = ended.code == 0
        if ended.code not in (0, 2) or not _is_sentence(ended):
            return Verdict.UNEXPECTED, f"with a file of the user's: {ended.code}, {ended.last}"
    if not finished:
        ended = forked(still(command(*killed.arguments(case))))
        if ended.code is None:
            return Verdict.HANG, "the second time"
        already = ended.code == 2 and "already exists" in ended.last
        if already:
            (case / "out" / ".leakscope").unlink(missing_ok=True)  # all was done but for the mark
        elif ended.code != 0:
            return Verdict.UNEXPECTED, f"the second time: {ended.code}, {ended.last}"
    if found := differences(killed, case, quiet.folder):
        return Verdict.SILENT, "; ".join(found)
    if found := left_over(case, quiet.folder):
        return Verdict.LEFT_OVER, ", ".join(found)
    return (Verdict.FINISHED if first.code == 0 else Verdict.RESUMED), ""


def _wrong_interruption(ended: Ended) -> tuple[Verdict, str] | None:
    """What is wrong with the end of a command that got Ctrl-C, if anything is."""
    if ended.code is None:
        return Verdict.HANG, "after Ctrl-C"
    if ended.code == 0:
        return None
    said = [line for line in ended.err.splitlines() if line.startswith(INTERRUPTED)]
    if ended.code != 130 or len(said) != 1 or "Traceback" in ended.err:
        return Verdict.UNEXPECTED, f"Ctrl-C: exit code {ended.code}, {ended.err[-300:]}"
    return None


def _is_sentence(ended: Ended) -> bool:
    return ended.code == 0 or (
        ended.last.startswith("leakscope: ") and "Unexpected" not in ended.err
    )


def _foreign(case: Path) -> None:
    """Files of somebody else beside the output, with names that could be ours."""
    for name in FOREIGN:
        (case / name).parent.mkdir(parents=True, exist_ok=True)
        (case / name).write_text("mine")
