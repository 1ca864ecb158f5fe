"""The trial of kills, most of them by SIGKILL, two in seven by Ctrl-C."""

import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials.forked import LIMIT, Ended, Interruption, command, forked
from trials.kills.commands import Killed, commands, differences, left_over
from trials.kills.moments import Boundary, counting, killed_at
from trials.material import content, done, still
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder, served

COUNT = 175
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
    cached: set[str]
    """Names of the files that it leaves in the cache."""


def kills(seed: int, count: int = COUNT, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """So many kills and interruptions over all commands, in turn."""
    draw = random.Random(seed)
    with served("kills") as place:
        chosen = commands(place, only)[:count]
        found = {each.name: quiet(each, place) for each in chosen}
        inputs = content(place.made)
        for number in range(count):
            killed = chosen[number % len(chosen)]
            turn = number // len(chosen) % 7
            yield _tried(killed, found[killed.name], place, turn, draw)
            place.clear()
        if content(place.made) != inputs:
            yield Outcome("inputs", "inputs", Verdict.REMOVED, "an input was changed")


def quiet(killed: Killed, place: ServedFolder) -> Quiet:
    """Run a command undisturbed, twice: its results must be the same, or comparing means nothing.
    All runs are made in the same place, since manifests name it.
    """
    first, kept = place.root / f"{killed.name} at first", place.root / killed.name
    foreign(place.case)
    done(*killed.arguments(place.case), limit=limit(killed))
    place.case.rename(first)
    place.clear()
    foreign(place.case)
    with tempfile.TemporaryFile() as counter:
        work = counting(work_of(killed, place), counter.fileno())
        ended = forked(work, limit=limit(killed))
        calls = os.fstat(counter.fileno()).st_size
    place.case.rename(kept)
    cached = place.cached()
    place.clear()
    if ended.code != 0:
        raise RuntimeError(f"{killed.name} ended with {ended.code}: {ended.err}")
    if found := differences(killed, kept, first) + left_over(kept, first):
        raise RuntimeError(f"two quiet runs of {killed.name} differ: {found}")
    shutil.rmtree(first)
    return Quiet(kept, ended.seconds, calls, cached)


def work_of(killed: Killed, place: ServedFolder) -> Work:
    """The command, in the folder of the case."""
    return still(command(*killed.arguments(place.case)))


def limit(killed: Killed) -> float:
    """Seconds that it may take; a cluster has to start first."""
    return LIMIT * 2 if killed.on_ray else LIMIT


def _tried(
    killed: Killed, known: Quiet, place: ServedFolder, turn: int, draw: random.Random
) -> Outcome:
    """Kill or interrupt one run, and see what the same command makes of what it left."""
    case = place.case
    foreign(case)
    before = {name: (case / name).read_bytes() for name in FOREIGN}
    if turn < 3:
        boundary = Boundary(draw.randrange(known.calls), draw.random() < 0.5)
        name = f"killed {'after' if boundary.after else 'before'} call {boundary.call}"
        first = forked(killed_at(work_of(killed, place), boundary), limit=limit(killed))
    else:
        number = signal.SIGKILL if turn < 5 else signal.SIGINT
        sent = Interruption(draw.random() * known.seconds, number)
        name, first = _in_time(killed, place, sent)
        wrong = _wrong_interruption(first) if number == signal.SIGINT else None
        if wrong is not None:
            return Outcome(killed.name, name, *wrong)
    if first.code is None:
        return Outcome(killed.name, name, Verdict.HANG)
    verdict, detail = again(killed, known, place, first, touched=draw.random() < 0.25)
    if {name: (case / name).read_bytes() for name in FOREIGN if (case / name).exists()} != before:
        verdict, detail = Verdict.REMOVED, "a file beside the output is gone"
    return Outcome(killed.name, name, verdict, detail)


def _in_time(killed: Killed, place: ServedFolder, sent: Interruption) -> tuple[str, Ended]:
    """Interrupt the work; sooner, if it was too quick."""
    work = work_of(killed, place)
    first = forked(work, interruption=sent, limit=limit(killed))
    for _ in range(3):
        if first.code != 0:
            break
        place.clear()
        foreign(place.case)
        sent = Interruption(sent.after / 2, sent.number)
        first = forked(work, interruption=sent, limit=limit(killed))
    return f"{signal.Signals(sent.number).name} after {sent.after:.3f} s", first


def again(
    killed: Killed, known: Quiet, place: ServedFolder, first: Ended, *, touched: bool
) -> tuple[Verdict, str]:
    """Give the command again, and compare with the quiet run. `touched`: somebody has put a file of
    theirs into the directory in the meantime.
    """
    case, finished = place.case, first.code == 0
    if not finished and touched and (case / "out").is_dir():
        mine = case / "out" / "thesis.txt"
        mine.write_text("mine")
        ended = forked(work_of(killed, place), limit=limit(killed))
        if not mine.exists() or mine.read_text() != "mine":
            return Verdict.REMOVED, "a file in the output is gone"
        mine.unlink()
        finished = ended.code == 0
        if ended.code not in (0, 2) or not _is_sentence(ended):
            return Verdict.UNEXPECTED, f"with a file of the user's: {ended.code}, {ended.last}"
    if not finished:
        ended = forked(work_of(killed, place), limit=limit(killed))
        if ended.code is None:
            return Verdict.HANG, "the second time"
        already = ended.code == 2 and "already exists" in ended.last
        if already:
            (case / "out" / ".leakscope").unlink(missing_ok=True)  # all was done but for the mark
        elif ended.code != 0:
            return Verdict.UNEXPECTED, f"the second time: {ended.code}, {ended.last}"
    if found := differences(killed, case, known.folder):
        return Verdict.SILENT, "; ".join(found)
    if found := [*left_over(case, known.folder), *sorted(place.cached() - known.cached)]:
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


def foreign(case: Path) -> None:
    """Files of somebody else beside the output, with names that could be ours."""
    for name in FOREIGN:
        (case / name).parent.mkdir(parents=True, exist_ok=True)
        (case / name).write_text("mine")
