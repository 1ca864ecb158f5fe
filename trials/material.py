"""What kills and flips are tried on: a small corpus, models, runs, each made by the commands."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from unittest.mock import patch

from trials.forked import LIMIT, Ended, command, forked

SIZE = (
    "--threads", 1, "--arch", "gru", "--embedding", 12, "--hidden", 16, "--layers", 1,
    "--batch-size", 16, "--vocabulary", 400, "--learning-rate", 0.02, "--seed", 3,
)  # fmt: skip
PRIVATE = (
    "--mitigation", "dp", "--noise-multiplier", 0.8, "--sampling-rate", 0.25, "--clip", 0.2,
    "--words-per-user", 60, "--insecure-seed", 5,
)  # fmt: skip
TARGET = 250
TRAININGS = """
[plain]
[hidden]
mitigation = "triplet"
"""
"""What `study mitigations` compares: nothing private, since steps that a kill has lost count."""


@dataclass(frozen=True)
class Material:
    """Artifacts in a folder, each made when it is first asked for, and the commands that make
    them; `--out` is left to the caller.
    """

    root: Path

    @property
    def source(self) -> Path:
        folder = self.root / "synth"
        if not folder.exists():
            done("corpus", "synth", "--users", 18, "--words", 3000, "--out", folder)
        return folder / "data.parquet"

    @property
    def corpus(self) -> Path:
        return self.made("corpus", self.build)

    @property
    def cleaned(self) -> Path:
        return self.made("cleaned", self.clean)

    @property
    def model(self) -> Path:
        return self.made("model", self.train)

    @property
    def private(self) -> Path:
        return self.made("private", self.train_private)

    @property
    def run(self) -> Path:
        return self.made("run", self.report)

    @property
    def hardened(self) -> Path:
        return self.made("hardened", self.harden)

    @property
    def public(self) -> Path:
        """Cross-fitted models."""
        path = self.root / "public"
        if not path.exists():
            done(*self.crossfit(path), "--out", self.root / "crossfit")
        return path

    @property
    def trainings(self) -> Path:
        """The file that names those of a study."""
        path = self.root / "trainings.toml"
        if not path.exists():
            self.root.mkdir(exist_ok=True)
            path.write_text(TRAININGS)
        return path

    @property
    def planted(self) -> Path:
        return self.made("planted", self.plant)

    @property
    def later(self) -> Path:
        """A model of the planted corpus."""
        return self.made("later", self.train_planted)

    @property
    def exposed(self) -> Path:
        return self.made("exposed", self.exposure)

    @property
    def differing(self) -> Path:
        return self.made("differing", self.diff)

    def made(self, name: str, arguments: Callable[[], tuple[object, ...]]) -> Path:
        """A directory that is made when it is first asked for."""
        path = self.root / name
        if not path.exists():
            done(*arguments(), "--out", path)
        return path

    def inside(self) -> None:
        """Make most of it in this very process."""
        folder = self.root / "synth"
        _inside("corpus", "synth", "--users", 18, "--words", 3000, "--out", folder)
        for name, arguments in (
            ("corpus", self.build),
            ("cleaned", self.clean),
            ("model", self.train),
            ("private", self.train_private),
            ("run", self.report),
            ("hardened", self.harden),
        ):
            _inside(*arguments(), "--out", self.root / name)

    def build(self) -> tuple[object, ...]:
        return ("corpus", "build", self.source, "--shard-words", 900)

    def clean(self) -> tuple[object, ...]:
        steps = ("--documents", "near", "--scrub", "all", "--min-users", 2)
        return ("corpus", "clean", self.corpus, *steps)

    def train(self) -> tuple[object, ...]:
        return ("train", self.corpus, *SIZE, "--epochs", 2, "--checkpoint-steps", 4)

    def train_private(self) -> tuple[object, ...]:
        return ("train", self.corpus, *SIZE, *PRIVATE, "--epochs", 2, "--checkpoint-steps", 3)

    def report(self) -> tuple[object, ...]:
        return ("report", self.model, self.corpus, "--threads", 1, "--top-k", 3)

    def crossfit(self, public: Path) -> tuple[object, ...]:
        return (*self.report(), "--public", "crossfit", "--folds", 2, "--public-dir", public)

    def stand_ins(self, public: Path) -> tuple[object, ...]:
        return (*self.report(), "--stand-ins", "crossfit", "--folds", 2, "--public-dir", public)

    def plant(self) -> tuple[object, ...]:
        few = ("--users", 4, "--schedule", "1,4", "--vocabulary", 200, "--controls", 3)
        return ("canary", "plant", self.corpus, *few)

    def plant_rows(self) -> tuple[object, ...]:
        """The same in data, whose corpus is made first."""
        return ("canary", "plant", self.source, "--shard-words", 900, *self.plant()[3:])

    def train_planted(self) -> tuple[object, ...]:
        return ("train", self.planted / "corpus", *SIZE, "--epochs", 2, "--checkpoint-steps", 4)

    def exposure(self) -> tuple[object, ...]:
        return self.exposure_of(self.planted)

    def exposure_of(self, planted: Path) -> tuple[object, ...]:
        return ("canary", "exposure", self.later, planted, "--samples", 500, "--bootstrap", 10)

    def attack(self) -> tuple[object, ...]:
        return ("canary", "attack", self.later, self.planted, "--beam", 3)

    def diff(self) -> tuple[object, ...]:
        new = ("--new-corpus", self.planted / "corpus", "--old-corpus", self.corpus)
        given = ("--canaries", self.planted, "--exact-rows", 100)
        return ("diff", self.model, self.later, "--length", 3, "--width", 50, *given, *new)

    def mitigations(self) -> tuple[object, ...]:
        few = ("--users", 4, "--schedule", "1,4", "--controls", 3, "--samples", 300)
        quick = ("--epochs", 2, "--evaluations", 2, "--bootstrap", 10, "--group-users", 2)
        goal = ("--target", TARGET, "--trainings", self.trainings)
        return ("study", "mitigations", self.corpus, *SIZE, *few, *quick, *goal)

    def updates(self) -> tuple[object, ...]:
        few = ("--insertions", "3", "--scenario", "continue", "--length", 2, "--width", 20)
        return ("study", "updates", self.corpus, *SIZE, *few, "--epochs", 1)

    def harden(self) -> tuple[object, ...]:
        return ("harden", self.run, "--corpus", self.corpus, "--threads", 1)


def _inside(*arguments: object) -> None:
    """Run a command in this process, silently; raise if it fails."""
    before = sys.argv
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            command(*arguments)()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{arguments} ended with {end.code}") from None
        finally:
            sys.argv = before


def done(*arguments: object, limit: float = LIMIT) -> Ended:
    """Run a command that must succeed."""
    ended = forked(still(command(*arguments)), limit=limit)
    if ended.code != 0:
        raise RuntimeError(f"{arguments} ended with {ended.code}: {ended.err}")
    return ended


def still(work):
    """The same work in `stillness`."""

    def stilled():
        with stillness():
            return work()

    return stilled


@contextlib.contextmanager
def stillness() -> Iterator[None]:
    """Inside, the clock stands still, but for a second in each step of a training, and salts are
    always the same, so that two runs can be compared byte for byte. Nothing else of the code is
    changed.
    """
    from leakscope.auditing import block_list_building
    from leakscope.commands import study_mitigations, study_updates
    from leakscope.training import loop

    with contextlib.ExitStack() as changed:
        steps = count(0.0).__next__
        changed.enter_context(patch.dict(loop.Running.__init__.__kwdefaults__, clock=steps))
        changed.enter_context(patch.object(block_list_building, "os", _SameSalt()))
        for study in (study_mitigations, study_updates):
            changed.enter_context(patch.object(study, "time", _StillClock()))
        yield


class _SameSalt:
    """The module `os`, with the same bytes at every draw."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    @staticmethod
    def urandom(count: int) -> bytes:
        return bytes(range(count))


class _StillClock:
    """The module `time`, for whoever asks how long work took."""

    @staticmethod
    def perf_counter() -> float:
        return 0.0


def content(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder, and every folder (None)."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
