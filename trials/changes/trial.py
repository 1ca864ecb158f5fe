"""The trial of changes: a command is killed, one thing about it is changed, and it is given again.
The result must be what the changed command gives where nothing was kept, or be refused.
"""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trials.forked import command, forked
from trials.kills.moments import Boundary, counting, killed_at
from trials.material import Material, content, done, still
from trials.outcomes import Outcome, Verdict

COUNT = 40
Arguments = tuple[object, ...]


@dataclass(frozen=True)
class Change:
    """A command as it is killed, and as it is given then."""

    kind: str
    name: str
    before: Callable[[], Arguments]
    after: Callable[[], Arguments]


def given(kind: str, base: Callable[[], Arguments], *options: object) -> Change:
    """The same command with one option more, or another value of one that it has."""
    return Change(kind, " ".join(map(str, options)), base, lambda: _changed(base(), *options))


def _changed(arguments: Arguments, option: object, *value: object) -> Arguments:
    if option not in arguments:
        return (*arguments, option, *value)
    place = arguments.index(option)
    return (*arguments[: place + 1], *value, *arguments[place + 2 :])


def changes(seed: int, count: int = COUNT) -> Iterator[Outcome]:
    """Each change in turn, at random moments, until there are so many."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="trial-changes-") as name:
        root = Path(name)
        known, case = all_changes(Material(root / "made"), root), root / "case"
        fresh: dict[str, dict[str, bytes | None]] = {}
        for place in range(count):
            change = known[place % len(known)]
            key = f"{change.kind} {change.name}"
            if key not in fresh:
                fresh[key] = _fresh(change, case)
            yield _tried(change, case, fresh[key], draw)
            shutil.rmtree(case, ignore_errors=True)


def all_changes(made: Material, root: Path) -> list[Change]:
    public = root / "case" / "public"
    report, train = made.report, made.train
    others = [
        ("--seed", 4), ("--learning-rate", 0.03), ("--batch-size", 8), ("--hidden", 20),
        ("--vocabulary", 300), ("--epochs", 3), ("--arch", "lstm"),
    ]  # fmt: skip
    return [
        *(
            given("report", report, *option)
            for option in [
                ("--top-k", 2), ("--confidence", 3.0), ("--full-perplexity",), ("--reveal",),
                ("--decoy-words", 200), ("--validation-words", 150), ("--contexts", 2),
            ]
        ),
        Change("report", "a snapshot", report, lambda: _with(report(), 1, _snapshot(made))),
        given("crossfit", lambda: made.crossfit(public), "--folds", 3),
        given("crossfit", lambda: made.crossfit(public), "--top-k", 2),
        given("stand-ins", lambda: made.stand_ins(public), "--folds", 3),
        *(given("train", train, *option) for option in others),
        given("build", made.build, "--validation", 0.3),
        given("build", made.build, "--lowercase"),
        given("build", made.build, "--shard-words", 700),
        given("build", made.build, "--seed", 9),
        given("canary plant", made.plant, "--seed", 5),
        given("canary exposure", made.exposure, "--samples", 400),
        given("canary attack", made.attack, "--given", 2),
        given("diff", made.diff, "--length", 2),
        given("study", made.updates, "--insertions", "2"),
        given("study", made.updates, "--hidden", 20),
    ]  # fmt: skip


def _snapshot(made: Material) -> Path:
    return made.model / "snapshots" / "epoch-001"


def _with(arguments: Arguments, place: int, value: object) -> Arguments:
    return (*arguments[:place], value, *arguments[place + 1 :])


def _fresh(change: Change, case: Path) -> dict[str, bytes | None]:
    """What the changed command gives where nothing was kept."""
    done(*change.after(), "--out", case / "out")
    found = content(case / "out")
    shutil.rmtree(case)
    return found


def _tried(
    change: Change, case: Path, fresh: dict[str, bytes | None], draw: random.Random
) -> Outcome:
    before = still(command(*change.before(), "--out", case / "out"))
    with tempfile.TemporaryFile() as counter:
        forked(counting(before, counter.fileno()))
        counter.seek(0)
        calls = len(counter.read())
    shutil.rmtree(case)
    call = draw.randrange(calls // 2, calls)  # late, so that much is kept
    forked(killed_at(before, Boundary(call, draw.random() < 0.5)))
    ended = forked(still(command(*change.after(), "--out", case / "out")))
    name = f"{change.name}, after a kill at call {call}"
    if ended.code is None:
        return Outcome(change.kind, name, Verdict.HANG)
    if ended.code == 2 and ended.last.startswith("leakscope: ") and "Unexpected" not in ended.err:
        return Outcome(change.kind, name, Verdict.REFUSED)
    if ended.code != 0:
        return Outcome(change.kind, name, Verdict.UNEXPECTED, f"{ended.code}, {ended.last}")
    ours = content(case / "out")
    if change.kind == "study":  # it keeps the steps of both, and seals them all
        fresh = {path: data for path, data in fresh.items() if path != "seal.txt"}
    other = [path for path, data in fresh.items() if path not in ours or ours[path] != data]
    if other:
        return Outcome(change.kind, name, Verdict.SILENT, ", ".join(other))
    extra = [path for path in ours if path not in fresh and change.kind != "study"]
    if extra:
        return Outcome(change.kind, name, Verdict.LEFT_OVER, ", ".join(extra))
    return Outcome(change.kind, name, Verdict.RESUMED)
