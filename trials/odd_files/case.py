"""One odd file: how it is made, which commands it is given to, and the judgement on these."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trials.forked import Ended, command, forked
from trials.material import Material
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder

MOST_MEMORY = 2 << 30
"""Bytes, with some six hundred million for what is imported."""
LIMIT = 90.0
Commands = list[tuple[object, ...]]


@dataclass(frozen=True)
class Place:
    """Where a case is made: a folder of its own, and what it may use of others."""

    folder: Path
    made: Material
    causal: Path
    """A tiny Hugging Face model."""
    adapter: Path
    """A LoRA adapter on it."""
    served: ServedFolder
    """Files below it are objects, too."""
    evil: str
    """The address of a server that lies."""

    @property
    def orders(self) -> Path:
        """What the evil server is told."""
        return self.served.root / "orders.json"

    @property
    def marker(self) -> Path:
        """A file that whatever is run would leave."""
        return self.folder / "it-was-run"

    def building(self, *inputs: Path, more: tuple[object, ...] = ()) -> Commands:
        """`corpus build` of some inputs."""
        return [("corpus", "build", *inputs, *more, "--out", self.folder / "built")]

    def reporting(self, model: Path, corpus: Path | None = None) -> Commands:
        """`report` and `probe` of a model."""
        known = ("--trained-on", "train", "--threads", 1, "--out", self.folder / "reported")
        return [
            ("report", model, corpus or self.made.corpus, *known),
            ("probe", model, "hello"),
        ]


@dataclass(frozen=True)
class OddFile:
    """A case. `prepare` makes it and returns the commands that read it."""

    kind: str
    name: str
    prepare: Callable[[Place], Commands]
    check: Callable[[Place, list[Ended]], str | None] = field(default=lambda place, ended: None)
    """What is wrong with the results of commands that went well or were refused, if anything."""


def judged(odd: OddFile, place: Place) -> Outcome:
    """Make the case, run its commands, and say what became of it."""
    place.folder.mkdir(parents=True)
    evil_module(place)
    given = odd.prepare(place)
    place.marker.unlink(missing_ok=True)  # the making may have set it off, on purpose
    ended = [forked(_beside(place, one), limit=LIMIT, cwd=place.folder) for one in given]
    verdicts = [_verdict(each) for each in ended]
    wrong = next((each for each in verdicts if each[0] not in GOOD), None)
    if place.marker.exists():
        wrong = Verdict.EXECUTED, "it left its marker"
    if wrong is None and (problem := odd.check(place, ended)) is not None:
        wrong = Verdict.SILENT, problem
    refused = next((each for each in verdicts if each[0] == Verdict.REFUSED), None)
    return Outcome(odd.kind, odd.name, *(wrong or refused or verdicts[0]))


GOOD = (Verdict.READ, Verdict.REFUSED)


def _verdict(ended: Ended) -> tuple[Verdict, str]:
    if ended.ran:
        return Verdict.EXECUTED, ", ".join(ended.ran)
    if ended.code is None:
        return Verdict.HANG, ended.last
    if ended.code not in (0, 2) or "Unexpected" in ended.err or "Traceback" in ended.err:
        return Verdict.UNEXPECTED, f"exit code {ended.code}: {ended.last}"
    if ended.peak > MOST_MEMORY:
        return Verdict.GREEDY, f"{ended.peak >> 20} MiB"
    if ended.code == 0:
        return Verdict.READ, ""
    sentence = ended.last.startswith("leakscope: ") and ended.last.endswith((".", "?"))
    return (Verdict.REFUSED if sentence else Verdict.UNEXPECTED), ended.last


def _beside(place: Place, arguments: tuple[object, ...]) -> Callable[[], None]:
    """A command where modules in the folder of the case could be imported. Where the address of the
    evil server stands before it, that is the server of its URLs.
    """
    evil = arguments[0] == place.evil
    work = command(*arguments[evil:])

    def run() -> None:
        sys.path.insert(0, str(place.folder))
        if evil:
            os.environ["AWS_ENDPOINT_URL"] = place.evil
        work()

    return run


def evil_module(place: Place) -> None:
    """A module that leaves the marker when it is imported."""
    code = f"open({str(place.marker)!r}, 'w').close()\nclass C: pass\n"
    (place.folder / "evil_module.py").write_text(code)


class Pickled:
    """Opens the marker when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (self.marker, "w"))


def fifo(path: Path) -> Path:
    """A pipe that nobody writes into: whoever opens it waits for ever."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path
