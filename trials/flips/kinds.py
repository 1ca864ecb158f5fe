"""Every kind of finished artifact: which files it is made of, and who reads them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trials.flips import answers
from trials.forked import forked
from trials.material import Material

SEALS = ("seal.txt", "*.seal", "*/*.seal", "*/seal.txt", "checkpoints/*/seal.txt")


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
    """Of some thirteen hundred flips."""
    finished: bool = True
    """Whether somebody may be given it, so that `leakscope verify` must answer for every bit. Of
    what is left in the middle of work, a bit that changes no result may pass.
    """
    spelled: Callable[[Path], object] = str
    """What `leakscope verify` is given."""
    on_ray: bool = False
    """Whether it is read on a cluster, which starts programs and unpickles what they send."""

    @cached_property
    def artifact(self) -> Path:
        return self.make()

    @cached_property
    def paths(self) -> list[Path]:
        """The files that are spoilt, by their places in the artifact."""
        found = [path for pattern in self.files for path in sorted(self.artifact.glob(pattern))]
        places = [path.relative_to(self.artifact) for path in found if path.is_file()]
        return [path for path in places if (self.artifact / path).stat().st_size]


def finished_kinds(made: Material) -> list[Kind]:
    """Kinds of files that somebody may be given."""
    model, run = answers.of_model(made), answers.of_run(made)
    spent, hardened = answers.of_private_model(made), answers.of_hardened(made)
    corpus, folds = answers.of_corpus, answers.of_folds(made)
    canaries = answers.of_canaries(made)
    return [
        Kind("corpus: manifest", lambda: made.corpus, ("manifest.json",), corpus, 70),
        Kind("corpus: lexicon", lambda: made.corpus, ("lexicon.parquet",), corpus, 70),
        Kind("corpus: shards", lambda: made.corpus, ("shards/*.parquet",), corpus, 80),
        Kind("corpus: seals", lambda: made.corpus, SEALS, corpus, 20),
        Kind("corpus: clean.json", lambda: made.cleaned, ("clean.json",), corpus, 20),
        Kind("model: config", lambda: made.model, ("config.json",), model, 70),
        Kind("model: vocabulary", lambda: made.model, ("vocabulary.json",), model, 50),
        Kind("model: weights", lambda: made.model, ("model.safetensors",), model, 70),
        Kind("model: history", lambda: made.model, ("history.parquet",), model, 30),
        Kind("model: seals", lambda: made.model, SEALS, model, 20),
        Kind("private model: config", lambda: made.private, ("config.json",), spent, 40),
        Kind("private model: ledger", lambda: made.private, ("privacy.jsonl",), spent, 50),
        Kind("run: manifest", lambda: made.run, ("manifest.json",), run, 40),
        Kind("run: metrics", lambda: made.run, ("metrics.json",), run, 50),
        Kind("run: tables", lambda: made.run, ("*.parquet",), run, 70),
        Kind("run: page", lambda: made.run, ("report.html",), run, 20),
        Kind("run: seals", lambda: made.run, SEALS, run, 20),
        Kind("public models: folds.json", lambda: made.public, ("*/folds.json",), folds, 10),
        Kind("public models: weights", lambda: made.public, ("*/*/model.safetensors",), folds, 10),
        Kind("harden: curves and page", lambda: made.hardened, ("harden.*",), hardened, 20),
        Kind("canaries: plan", lambda: made.planted, ("*.json*",), canaries, 20),
        Kind("canaries: seals", lambda: made.planted, SEALS, canaries, 10),
        Kind("exposure: all files", lambda: made.exposed, ("*",), answers.for_people, 20),
        Kind("diff: all files", lambda: made.differing, ("*",), answers.for_people, 20),
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
