"""The trial of write points: a kill right before and right after every place in the code at which a
file becomes whole, takes its place or goes.
"""

import random
import tempfile
from collections.abc import Iterator
from itertools import pairwise

from trials.forked import forked
from trials.kills.commands import Killed, commands
from trials.kills.moments import Boundary, killed_at, places_of
from trials.kills.trial import Quiet, again, foreign, limit, quiet, work_of
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder, served

RAY_FILES = ("ray_engine.py", "ray_client.py", "ray_workers.py", "private_scratch.py")


def writes(seed: int, count: int | None = None, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Every write point of every command; or so many of each, evenly spread."""
    draw = random.Random(seed)
    with served("writes") as place:
        for killed in commands(place, only):
            known = quiet(killed, place)
            found = _points(killed, place, draw)
            for boundary in found if count is None else evenly(found, count, draw):
                yield _tried(killed, known, place, boundary)
                place.clear()


def evenly(found: list[Boundary], count: int, draw: random.Random) -> list[Boundary]:
    """So many of them in their order, one drawn from each of as many equal parts; or all."""
    if count >= len(found):
        return found
    ends = [number * len(found) // count for number in range(count + 1)]
    return [found[draw.randrange(begin, end)] for begin, end in pairwise(ends)]


def _points(killed: Killed, place: ServedFolder, draw: random.Random) -> list[Boundary]:
    """For each place in the code, one of its calls, before and after. What a command does on a
    cluster as it does without one is left out there.
    """
    foreign(place.case)
    with tempfile.TemporaryFile() as file:
        forked(places_of(work_of(killed, place), file.fileno()), limit=limit(killed))
        file.seek(0)
        lines = file.read().decode().splitlines()
    place.clear()
    calls: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if not killed.on_ray or any(name in line for name in RAY_FILES):
            calls.setdefault(line, []).append(number)
    return [
        Boundary(draw.choice(some), after) for some in calls.values() for after in (False, True)
    ]


def _tried(killed: Killed, known: Quiet, place: ServedFolder, boundary: Boundary) -> Outcome:
    name = f"killed {'after' if boundary.after else 'before'} call {boundary.call}"
    foreign(place.case)
    first = forked(killed_at(work_of(killed, place), boundary), limit=limit(killed))
    if first.code is None:
        return Outcome(killed.name, name, Verdict.HANG)
    return Outcome(killed.name, name, *again(killed, known, place, first, touched=False))
