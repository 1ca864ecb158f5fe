"""The trial of changes: a command is killed, one thing about it is changed, an option or what its
inputs hold, and it is given again. The result must be what the changed command gives where nothing
was kept, or be refused.
"""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trials.forked import LIMIT, command, forked
from trials.kills.commands import RAY, fits
from trials.kills.moments import Boundary, counting, killed_at
from trials.material import Material, content, done, still
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder, served

COUNT = 55
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


def changes(seed: int, count: int = COUNT, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Each change in turn, at random moments, until there are so many."""
    draw = random.Random(seed)
    with served("changes") as place:
        known = [each for each in all_changes(place) if fits(each.kind, only)]
        fresh: dict[str, dict[str, bytes | None]] = {}
        for number in range(count):
            change = known[number % len(known)]
            key = f"{change.kind} {change.name}"
            if key not in fresh:
                fresh[key] = _fresh(change, place)
            yield _tried(change, place, fresh[key], draw)
            place.clear()


def all_changes(place: ServedFolder) -> list[Change]:
    """Of every command; and some of those with URLs and on a cluster, where it is the same code
    that tells kept work apart.
    """
    material = Material(place.made)
    here, filled = _local(material, place.case / "public"), _refilled(material)
    remote = [
        each
        for kind in ("report", "train", "build", "canary exposure", "diff")
        for each in [one for one in here if one.kind == kind][:2]
    ]
    remote += filled
    top_k = here[0]
    return [
        *here,
        *filled,
        *(_with(each, " on s3", place.urls) for each in remote),
        _with(top_k, " on ray", lambda given: (*given, *RAY)),
    ]


def _with(change: Change, more: str, told: Callable[[Arguments], Arguments]) -> Change:
    return Change(
        change.kind + more,
        change.name,
        lambda: told(change.before()),
        lambda: told(change.after()),
    )


def _local(made: Material, public: Path) -> list[Change]:
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
        Change("report", "a snapshot", report, lambda: _replaced(report(), 1, _snapshot(made))),
        given("crossfit", lambda: made.crossfit(public), "--folds", 3),
        given("crossfit", lambda: made.crossfit(public), "--top-k", 2),
        given("stand-ins", lambda: made.stand_ins(public), "--folds", 3),
        *(given("train", train, *option) for option in others),
        given("build", made.build, "--validation", 0.3),
        given("build", made.build, "--lowercase"),
        given("build", made.build, "--shard-words", 700),
        given("build", made.build, "--seed", 9),
        given("clean", made.clean, "--min-users", 3),
        given("clean", made.clean, "--threshold", 0.5),
        given("canary plant", made.plant, "--seed", 5),
        given("canary plant", made.plant, "--schedule", "2"),
        given("canary exposure", made.exposure, "--samples", 400),
        given("canary exposure", made.exposure, "--seed", 1),
        given("canary attack", made.attack, "--given", 2),
        given("canary attack", made.attack, "--beam", 2),
        given("diff", made.diff, "--length", 2),
        given("diff", made.diff, "--relative"),
        given("diff", made.diff, "--exact-rows", 50),
        Change("diff", "a snapshot", made.diff, lambda: _replaced(made.diff(), 1, _snapshot(made))),
        given("study", made.updates, "--insertions", "2"),
        given("study", made.updates, "--hidden", 20),
    ]  # fmt: skip


def _refilled(made: Material) -> list[Change]:
    """Commands whose input holds something else when they are given again, at the same path."""
    return [
        _refill("report", made.report, 1, lambda: _snapshot(made)),
        _refill("train", made.train, 1, lambda: made.cleaned),
        _refill("build", made.build, 2, lambda: _other_source(made)),
        _refill("clean", made.clean, 2, lambda: made.planted / "corpus"),
    ]


def _refill(kind: str, base: Callable[[], Arguments], at: int, other: Callable[[], Path]) -> Change:
    """The argument in this place is a copy of what it is otherwise, and then of another."""

    def holding(source: Path | None) -> Arguments:
        usual = Path(str(base()[at]))
        place, source = usual.parent / "refilled" / usual.name, source or usual
        if place.is_dir():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, place)
        return _replaced(base(), at, place)

    return Change(kind, "of other contents", lambda: holding(None), lambda: holding(other()))


def _other_source(made: Material) -> Path:
    folder = made.root / "other-synth"
    if not folder.exists():
        done("corpus", "synth", "--users", 18, "--words", 3000, "--seed", 5, "--out", folder)
    return folder / "data.parquet"


def _snapshot(made: Material) -> Path:
    return made.model / "snapshots" / "epoch-001"


def _replaced(arguments: Arguments, at: int, value: object) -> Arguments:
    return (*arguments[:at], value, *arguments[at + 1 :])


def _fresh(change: Change, place: ServedFolder) -> dict[str, bytes | None]:
    """What the changed command gives where nothing was kept."""
    done(*_to_out(change.after(), place), limit=LIMIT * 2)
    found = content(place.case / "out")
    place.clear()
    return found


def _to_out(arguments: Arguments, place: ServedFolder) -> Arguments:
    """A command with its output in the folder of the case; by its URL, if it has URLs."""
    out = place.case / "out"
    remote = any(str(each).startswith("s3://") for each in arguments)
    return (*arguments, "--out", place.url(out) if remote else out)


def _tried(
    change: Change, place: ServedFolder, fresh: dict[str, bytes | None], draw: random.Random
) -> Outcome:
    before = still(command(*_to_out(change.before(), place)))
    with tempfile.TemporaryFile() as counter:
        forked(counting(before, counter.fileno()), limit=LIMIT * 2)
        counter.seek(0)
        calls = len(counter.read())
    place.clear()
    call = draw.randrange(calls // 2, calls)  # late, so that much is kept
    forked(killed_at(before, Boundary(call, draw.random() < 0.5)), limit=LIMIT * 2)
    ended = forked(still(command(*_to_out(change.after(), place))), limit=LIMIT * 2)
    name = f"{change.name}, after a kill at call {call}"
    if ended.code is None:
        return Outcome(change.kind, name, Verdict.HANG)
    if ended.code == 2 and ended.last.startswith("leakscope: ") and "Unexpected" not in ended.err:
        return Outcome(change.kind, name, Verdict.REFUSED)
    if ended.code != 0:
        return Outcome(change.kind, name, Verdict.UNEXPECTED, f"{ended.code}, {ended.last}")
    ours = content(place.case / "out")
    if change.kind == "study":  # it keeps the steps of both, and seals them all
        fresh = {path: data for path, data in fresh.items() if path != "seal.txt"}
    other = [path for path, data in fresh.items() if path not in ours or ours[path] != data]
    if other:
        return Outcome(change.kind, name, Verdict.SILENT, ", ".join(other))
    extra = [path for path in ours if path not in fresh and change.kind != "study"]
    if extra:
        return Outcome(change.kind, name, Verdict.LEFT_OVER, ", ".join(extra))
    return Outcome(change.kind, name, Verdict.RESUMED)
