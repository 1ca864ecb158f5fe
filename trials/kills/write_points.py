"""The trial of write points: a kill right before and right after every place in the code at which a
file becomes whole, takes its place or goes.
"""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trials.forked import command, forked
from trials.kills.commands import Killed, commands
from trials.kills.moments import Boundary, killed_at, places_of
from trials.kills.trial import Quiet, _again, _foreign, _quiet
from trials.material import Material, still
from trials.outcomes import Outcome, Verdict


def writes(seed: int, count: int | None = None) -> Iterator[Outcome]:
    """Every write point of every command; or so many of them, drawn."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="trial-writes-") as name:
        root = Path(name)
        case, chosen = root / "case", commands(Material(root / "made"))
        found = []
        quiet: dict[str, Quiet] = {}
        for killed in chosen if count is None else draw.sample(chosen, 2):
            quiet[killed.name] = _quiet(killed, case, root / killed.name)
            found += [(killed, each) for each in _points(killed, case, draw)]
        for killed, boundary in found if count is None else draw.sample(found, count):
            yield _tried(killed, quiet[killed.name], case, boundary)
            shutil.rmtree(case)


def _points(killed: Killed, case: Path, draw: random.Random) -> list[Boundary]:
    """For each place in the code, one of its calls, before and after."""
    _foreign(case)
    with tempfile.TemporaryFile() as file:
        forked(places_of(still(command(*killed.arguments(case))), file.fileno()))
        file.seek(0)
        lines = file.read().decode().splitlines()
    shutil.rmtree(case)
    calls: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        calls.setdefault(line, []).append(number)
    return [
        Boundary(draw.choice(some), after) for some in calls.values() for after in (False, True)
    ]


def _tried(killed: Killed, quiet: Quiet, case: Path, boundary: Boundary) -> Outcome:
    name = f"killed {'after' if boundary.after else 'before'} call {boundary.call}"
    _foreign(case)
    first = forked(killed_at(still(command(*killed.arguments(case))), boundary))
    if first.code is None:
        return Outcome(killed.name, name, Verdict.HANG)
    return Outcome(killed.name, name, *_again(killed, quiet, case, first, touched=False))
