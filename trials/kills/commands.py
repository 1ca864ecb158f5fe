"""The commands that are killed, and how two results of each are compared."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from trials.material import Material, content
from trials.served_folder import ServedFolder

LEDGER = "privacy.jsonl"
RAY = ("--engine", "ray", "--workers", 1)
REMOTE = ("build", "train", "private train", "report", "canary plant", "canary exposure", "diff")
"""Commands that are killed with URLs, too."""


@dataclass(frozen=True)
class Killed:
    """A command that is killed. It writes into `out`, a folder in the folder of the case."""

    name: str
    arguments: Callable[[Path], tuple[object, ...]]
    """The command, given the folder of the case, with its --out."""
    spends: bool = False
    """Whether it counts what it has spent, so that a kill leaves its mark in ledger and config."""
    is_remote: bool = False
    """Whether it is given URLs, so that its work is done in the cache."""
    on_ray: bool = False


def commands(place: ServedFolder, only: tuple[str, ...] = ()) -> list[Killed]:
    """All of them, or those with names that fit one of these patterns."""
    here = _local(Material(place.made))
    remote = [_remote(each, place) for each in here if each.name in REMOTE]
    remote.append(Killed("verify on s3", lambda case: _verify(place), is_remote=True))
    report = next(each for each in here if each.name == "report")
    found = [*here, *remote, _on_ray(report), _on_ray(_remote(report, place))]
    return [each for each in found if fits(each.name, only)]


def _verify(place: ServedFolder) -> tuple[object, ...]:
    return ("verify", place.url(Material(place.made).run))


def fits(name: str, only: tuple[str, ...]) -> bool:
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _remote(killed: Killed, place: ServedFolder) -> Killed:
    return replace(
        killed,
        name=f"{killed.name} on s3",
        arguments=lambda case: place.urls(killed.arguments(case)),
        is_remote=True,
    )


def _on_ray(killed: Killed) -> Killed:
    """The same on a cluster of its own, which starts and ends with it."""
    return replace(
        killed,
        name=f"{killed.name} on ray",
        arguments=lambda case: (*killed.arguments(case), *RAY),
        on_ray=True,
    )


def _local(made: Material) -> list[Killed]:
    two = ("--workers", 2)
    return [
        Killed("build", lambda case: (*made.build(), "--out", case / "out")),
        Killed("clean", lambda case: (*made.clean(), "--out", case / "out")),
        Killed("train", lambda case: (*made.train(), "--out", case / "out")),
        Killed("private train", lambda case: (*made.train_private(), "--out", case / "out"), True),
        Killed("report", lambda case: (*made.report(), "--out", case / "out")),
        Killed("crossfit", lambda case: (*made.crossfit(case / "public"), "--out", case / "out")),
        Killed("stand-ins", lambda case: (*made.stand_ins(case / "in"), "--out", case / "out")),
        Killed("canary plant", lambda case: (*made.plant(), "--out", case / "out")),
        Killed("canary exposure", lambda case: (*made.exposure(), "--out", case / "out")),
        Killed("canary attack", lambda case: (*made.attack(), "--out", case / "out")),
        Killed("diff", lambda case: (*made.diff(), "--out", case / "out")),
        Killed("study updates", lambda case: (*made.updates(), "--out", case / "out")),
        Killed("study mitigations", lambda case: (*made.mitigations(), "--out", case / "out")),
        Killed("harden", lambda case: (*made.harden(), "--out", case / "out")),
        Killed("train on two", lambda case: (*made.train(), *two, "--out", case / "out")),
        Killed(
            "private train on two",
            lambda case: (*made.train_private(), *two, "--out", case / "out"),
            True,
        ),
    ]


def differences(killed: Killed, case: Path, quiet: Path) -> list[str]:
    """What is not, byte for byte, as in a quiet run."""
    ours, theirs = content(case), content(quiet)
    if killed.spends:
        found = _spent(case / "out", quiet / "out")
        for files in (ours, theirs):
            _without_privacy(files)
    else:
        found = []
    found += [f"{name} is missing" for name in theirs if name not in ours]
    found += [
        f"{name} is another" for name, data in theirs.items() if name in ours and ours[name] != data
    ]
    return found


def left_over(case: Path, quiet: Path) -> list[str]:
    return [name for name in content(case) if name not in content(quiet)]


def _spent(ours: Path, quiet: Path) -> list[str]:
    """What is wrong with what a killed private training says that it has spent."""
    found = []
    steps = [_steps(each / LEDGER) for each in (ours, quiet)]
    if steps[0] < steps[1]:
        found.append(f"the ledger counts {steps[0]} steps, {steps[1]} were taken")
    mine, theirs = (
        json.loads((each / "config.json").read_bytes())["mitigation"] for each in (ours, quiet)
    )
    if mine["epsilon"] is None or mine["epsilon"] < theirs["epsilon"]:
        found.append(f"epsilon {mine['epsilon']} is below {theirs['epsilon']}")
    if mine["lost_steps"] != steps[0] - steps[1]:
        found.append(f"{mine['lost_steps']} lost steps are told, {steps[0] - steps[1]} are")
    return found


def _steps(ledger: Path) -> int:
    """Steps that a ledger tells of, counted by json alone; a torn line is one."""
    count = 0
    for line in ledger.read_bytes().split(b"\n"):
        try:
            count += "step" in json.loads(line) if line.strip() else 0
        except ValueError:
            count += 1
    return count


def _without_privacy(files: dict[str, bytes | None]) -> None:
    """Take out what a lost step changes: the ledger, the record of privacy in configs and in the
    history, and the seals of these. Weights and vocabulary stay.
    """
    for name, data in list(files.items()):
        if name.endswith(("history.parquet", LEDGER, "seal.txt", ".seal")):
            files[name] = b""
        elif name.endswith("config.json") and data is not None:
            plain = json.loads(data)
            del plain["mitigation"], plain["progress"]
            files[name] = json.dumps(plain).encode()
