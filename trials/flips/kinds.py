"""Every kind of artifact: which files it is made of, and who reads them."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trials.flips import answers
from trials.forked import command, forked
from trials.kills.moments import Boundary, killed_at
from trials.material import Material, still

QUICK = (
    "corpus: shards", "model: config", "model: weights", "run: metrics", "harden: block list",
)  # fmt: skip
"""Kinds that are quick to make and to read."""


@dataclass(frozen=True)
class Kind:
    """Files of one kind in an artifact, and how often they are spoilt."""

    name: str
    make: Callable[[], Path]
    """The directory, made when it is first asked for. It is copied, and the copy is spoilt."""
    files: tuple[str, ...]
    """Patterns of names below it."""
    answer: answers.Answer
    share: int
    """Of a thousand flips."""
    finished: bool = True
    """Whether somebody may be given it, so that `leakscope verify` must answer for every bit. Of
    what is left in the middle of work, a bit that changes no result may pass.
    """

    @cached_property
    def artifact(self) -> Path:
        return self.make()

    @cached_property
    def paths(self) -> list[Path]:
        """The files that are spoilt, by their places in the artifact."""
        found = [path for pattern in self.files for path in sorted(self.artifact.glob(pattern))]
        return [path.relative_to(self.artifact) for path in found if path.is_file()]


def kinds(made: Material) -> list[Kind]:
    """All kinds."""

    def unfinished(
        name: str, arguments: Callable[[], tuple[object, ...]], pattern: str
    ) -> Callable[[], Path]:
        return lambda: _unfinished(arguments(), made.root / name, pattern)

    tensors = "checkpoints/*/optimizer.safetensors"
    training = unfinished("unfinished", made.train, tensors)
    private = unfinished("unfinished-private", made.train_private, tensors)
    report = unfinished("unfinished-report", made.report, ".work/*.parquet")
    model, run = answers.of_model(made), answers.of_run(made)
    spent, hardened = answers.of_private_model(made), answers.of_hardened(made)
    resumed = answers.of_unfinished(made.train)
    resumed_private = answers.of_unfinished(made.train_private)
    reported = answers.of_unfinished(made.report)
    corpus, folds = answers.of_corpus, answers.of_folds(made)
    checkpoint = "checkpoints/*/"
    seals = ("seal.txt", "*.seal", "*/*.seal", "*/seal.txt", "checkpoints/*/*.seal")
    return [
        Kind("corpus: manifest", lambda: made.corpus, ("manifest.json",), corpus, 70),
        Kind("corpus: lexicon", lambda: made.corpus, ("lexicon.parquet",), corpus, 70),
        Kind("corpus: shards", lambda: made.corpus, ("shards/*.parquet",), corpus, 80),
        Kind("corpus: seals", lambda: made.corpus, seals, corpus, 20),
        Kind("corpus: clean.json", lambda: made.cleaned, ("clean.json",), corpus, 20),
        Kind("model: config", lambda: made.model, ("config.json",), model, 70),
        Kind("model: vocabulary", lambda: made.model, ("vocabulary.json",), model, 50),
        Kind("model: weights", lambda: made.model, ("model.safetensors",), model, 70),
        Kind("model: history", lambda: made.model, ("history.parquet",), model, 30),
        Kind("model: seals", lambda: made.model, seals, model, 20),
        Kind("private model: config", lambda: made.private, ("config.json",), spent, 40),
        Kind("private model: ledger", lambda: made.private, ("privacy.jsonl",), spent, 50),
        Kind("training: checkpoint.json", training, ("checkpoint.json",), resumed, 40, False),
        Kind(
            "training: tensors", training, (checkpoint + "model.safetensors",), resumed, 40, False
        ),
        Kind("training: optimizer", training, (checkpoint + "optimizer.*",), resumed, 40, False),
        Kind("training: seals", training, seals, resumed, 20, False),
        Kind("private training: ledger", private, ("privacy.jsonl",), resumed_private, 50, False),
        Kind("private training: tensors", private, (checkpoint + "*",), resumed_private, 30, False),
        Kind("run: manifest", lambda: made.run, ("manifest.json",), run, 40),
        Kind("run: metrics", lambda: made.run, ("metrics.json",), run, 50),
        Kind("run: tables", lambda: made.run, ("*.parquet",), run, 70),
        Kind("run: page", lambda: made.run, ("report.html",), run, 20),
        Kind("run: seals", lambda: made.run, seals, run, 20),
        Kind("unfinished run: scores", report, (".work/*.parquet",), reported, 30, False),
        Kind("public models: folds.json", lambda: made.public, ("*/folds.json",), folds, 10),
        Kind("public models: weights", lambda: made.public, ("*/*/model.safetensors",), folds, 10),
        Kind("harden: curves and page", lambda: made.hardened, ("harden.*",), hardened, 20),
        Kind("harden: block list", lambda: made.hardened, ("blocklist.bloom",), hardened, 40),
        Kind(
            "endpoint: kept answers",
            lambda: _answers(made.root / "answers"),
            ("answers.sqlite",),
            answers.of_answers,
            40,
            False,
        ),
    ]


def _answers(folder: Path) -> Path:
    if not folder.exists():
        forked(lambda: answers.keep_answers(folder))
    return folder


def _unfinished(arguments: tuple[object, ...], out: Path, pattern: str) -> Path:
    """A directory in which a command was killed, a while after files of this pattern came up."""
    if out.exists():
        return out
    for call in range(20, 600, 10):
        ended = forked(killed_at(still(command(*arguments, "--out", out)), Boundary(call, True)))
        if ended.code == 0:
            break
        training = arguments[0] == "train"
        whole = not training or (out / "checkpoint.json").exists()
        if list(out.glob(pattern)) and whole and len(list(out.glob("checkpoints/*"))) == training:
            return out
        shutil.rmtree(out)
    raise RuntimeError(f"{arguments} left nothing unfinished")
