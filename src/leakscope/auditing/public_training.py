"""Train public models: like the audited one, without the users that they are to judge."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from leakscope.auditing.public_settings import CROSSFIT, RETRAIN
from leakscope.auditing.training_recipe import Recipe
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import digest_of, private_directory, write_sealed
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError, OtherTrainingError
from leakscope.records.models.model_config import users_digest
from leakscope.records.output_claim import locked, sweep
from leakscope.training.finished_training import tidied
from leakscope.training.loop import train

NAME = "leakscope"


class Folds(BaseModel):
    """`folds.json` of a folder of cross-fitted models, written when all of them are trained."""

    model_config = ConfigDict(frozen=True)

    corpus_digest: str
    folds: int
    users: int
    """Of the corpus; user i is in fold i modulo `folds` (users are numbered by a hash)."""
    sealed: bool = False
    """Whether it has a seal; earlier versions had none."""


def fold_of(users: IntArray, folds: int) -> IntArray:
    """[n] the fold of each user. Users are numbered in the order of a hash of their keys, so this
    is a random partition that depends on nothing else.
    """
    return (users % folds).astype(np.int32)


def left_out_of(fold: int, folds: int, users: int) -> IntArray:
    """The numbers of those of so many users that a fold leaves out."""
    everybody = np.arange(users, dtype=np.int32)
    found: IntArray = everybody[fold_of(everybody, folds) == fold]
    return found


def beside(model: Path) -> Path:
    """`public` in the directory of the training that `model` is the end or a snapshot of."""
    training = model.parent.parent if model.parent.name == "snapshots" else model
    return training / "public"


def train_without(
    corpus: Corpus,
    target: Path,
    recipe: Recipe,
    users: IntArray,
    threads: int,
    progress: Progress,
) -> None:
    """Train a model without these users, unless it is there already. One that was trained
    otherwise, or begun so, is refused.
    """
    if (target / "config.json").exists():
        changes = differences_found(target, corpus, recipe)
        without = load_config(target).without_users
        if without is None or without.digest != users_digest(users):
            changes.append("other users left out")
        if changes:
            raise _another(target, ", ".join(changes))
        tidied(target)
        return
    import torch

    torch.set_num_threads(threads)
    private_directory(target.parent)

    def named(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        progress(f"{target.name} {stage}", done, total, note)

    try:
        train(
            corpus,
            target,
            recipe.settings,
            warm_start=recipe.warm_start,
            without_users=users,
            vocabulary_from=recipe.vocabulary_from,
            progress=named,
        )
    except OtherTrainingError as error:
        raise _another(target, error.changes) from None


def differences_found(path: Path, corpus: Corpus, recipe: Recipe) -> list[str]:
    """What of the training of the model in `path` is not as a public model for this corpus would be
    trained now, in words, whomever it left out.
    """
    config = load_config(path)
    found = recipe.differences(config)
    if config.corpus_digest != corpus.manifest.digest:
        found.append("another corpus")
    made_by, now = (_release(said) for said in (config.versions.get("leakscope"), version(NAME)))
    if made_by != now:
        found.append(f"{NAME} {made_by} before, {now} now")
    return found


def _release(said: str | None) -> str:
    """A version without its last part: those that share the rest train alike."""
    return "of an unknown version" if said is None else ".".join(said.split(".")[:2])


def _another(target: Path, changes: str) -> LeakscopeError:
    return LeakscopeError(
        f"{target} holds a model of another training ({changes}); give another --public-dir, or "
        f"remove {target.parent if target.name.startswith('fold-') else target}."
    )


def train_without_owners(
    corpus: Corpus, folder: Path, recipe: Recipe, owners: IntArray, threads: int, progress: Progress
) -> Path:
    """Train a model without the owners of unique sequences; where it is kept in `folder`."""
    if len(owners) >= corpus.manifest.train.users:
        raise LeakscopeError(
            "Every user owns a unique sequence, so nobody is left to train a public model "
            "on; use --public crossfit."
        )
    key = recipe.key(users_digest(owners), corpus.manifest.digest)
    target = folder / f"{RETRAIN}-{digest_of(key)[:16]}"
    train_without(corpus, target, recipe, owners, threads, progress)
    return target


def train_folds(
    corpus: Corpus, folder: Path, recipe: Recipe, folds: int, threads: int, progress: Progress
) -> Path:
    """Train one model a fold of the users, each without that fold; where they are kept in `folder`.
    Finished ones are kept if they were trained in just this way.
    """
    target = folds_folder(folder, folds)
    if not 2 <= folds <= corpus.manifest.users:
        raise LeakscopeError(
            f"The number of folds must lie between 2 and the {corpus.manifest.users} users."
        )
    for fold in range(folds):
        left_out = left_out_of(fold, folds, corpus.manifest.users)
        train_without(corpus, target / f"fold-{fold:03d}", recipe, left_out, threads, progress)
    known = Folds(corpus_digest=corpus.manifest.digest, folds=folds, users=corpus.manifest.users)
    with locked(target):
        sweep(target)
        if not (target / "folds.json").exists():
            write_sealed(target / "folds.json", known, [])
    return target


def folds_folder(folder: Path, folds: int) -> Path:
    """Where so many cross-fitted models are kept."""
    return folder / f"{CROSSFIT}-{folds}"
