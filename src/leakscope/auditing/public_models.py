"""Public models: given, retrained without the owners of unique sequences, or cross-fitted."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from leakscope.auditing.model_loading import (
    ModelOptions,
    hub_origin,
    load_for_corpus,
    pretrained_digest,
    pretrained_name,
)
from leakscope.auditing.provenance import prove_unseen, seen_warnings, weights_digest
from leakscope.auditing.training_recipe import Recipe, recipe_of, was_trained_like
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.scrutiny.public_surprise import PublicModel, PublicSource
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.artifacts import (
    digest_of,
    digest_of_file,
    private_directory,
    read_json,
    write_json,
)
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.model import users_digest
from leakscope.records.public_model import (
    CrossFittedModelRecord,
    GivenModelRecord,
    PublicModelRecord,
    RetrainedModelRecord,
)
from leakscope.training.loop import train

RETRAIN, CROSSFIT = "retrain", "crossfit"


class Folds(BaseModel):
    """`folds.json` of a folder of cross-fitted models, written when all of them are trained."""

    model_config = ConfigDict(frozen=True)

    corpus_digest: str
    folds: int
    users: int
    """Of the corpus; user i is in fold i modulo `folds` (users are numbered by a hash)."""


def fold_of(users: IntArray, folds: int) -> IntArray:
    """[n] the fold of each user. Users are numbered in the order of a hash of their keys, so this
    is a random partition that depends on nothing else.
    """
    return (users % folds).astype(np.int32)


@dataclass(frozen=True)
class PublicChoice:
    """What `report` is told of the public model."""

    what: str
    """"retrain", "crossfit", or the path of a model or of cross-fitted models."""
    folds: int = 5
    folder: Path | None = None
    """Where models trained here are kept and found again; by default beside the model."""
    warm_start: Path | None = None
    """What the audited model was started from, if it was, so that others can start from it too."""

    @property
    def kind(self) -> str:
        """given, retrain or crossfit."""
        if self.what in (RETRAIN, CROSSFIT):
            return self.what
        return CROSSFIT if (Path(self.what) / "folds.json").exists() else "given"


def with_model_found(choice: PublicChoice | None) -> PublicChoice | None:
    """The same, with a given model found if it is a name of the hub's."""
    return choice if choice is None else replace(choice, what=str(find_model(Path(choice.what))))


def public_source(
    choice: PublicChoice,
    model: Path | None,
    corpus: Corpus,
    *,
    how: ModelOptions,
    progress: Progress,
) -> PublicSource:
    """How the public model of a report on `model` (None: one that is served elsewhere) is come
    by.
    """
    if model is None and choice.what in (RETRAIN, CROSSFIT):
        raise LeakscopeError(
            "How the endpoint's model was trained is not known here; give a --public MODEL, such "
            "as its base."
        )
    reads = partial(load_for_corpus, corpus=corpus.path, how=how)
    threads = how.threads
    if choice.what == RETRAIN and model is not None:
        recipe, folder = (
            recipe_of(model, corpus, choice.warm_start),
            choice.folder or _beside(model),
        )

        def retrained(owners: IntArray) -> PublicModel:
            if not len(owners):
                none = RetrainedModelRecord(name="none needed", digests=())
                return PublicModel(none, _nothing)
            if len(owners) >= corpus.manifest.train.users:
                raise LeakscopeError(
                    "Every user owns a unique sequence, so nobody is left to train a public model "
                    "on; use --public crossfit."
                )
            key = recipe.key(users_digest(owners), corpus.manifest.digest)
            target = folder / f"{RETRAIN}-{digest_of(key)[:16]}"
            _train_without(corpus, target, recipe, owners, threads, progress)
            prove_unseen(target, corpus, users_digest(owners))
            return PublicModel(_retrained_record(target, owners), partial(reads, target))

        return retrained
    if choice.what == CROSSFIT and model is not None:
        recipe, folder = (
            recipe_of(model, corpus, choice.warm_start),
            choice.folder or _beside(model),
        )
        target = folder / f"{CROSSFIT}-{choice.folds}"
        _train_folds(corpus, target, recipe, choice.folds, threads, progress)
        return partial(_crossfitted, target, model, corpus, how)
    path = Path(choice.what)
    if choice.kind == CROSSFIT:
        return partial(_crossfitted, path, model, corpus, how)
    if is_pretrained(path):
        if not path.is_file() and not any(path.glob("*.safetensors")):
            raise LeakscopeError(f"{path} has no weights in safetensors; save the model again.")
        return partial(_pretrained, path, corpus, how)
    load_config(path)
    weights_digest(path)  # found missing now, not after hours of scoring
    return partial(_given, path, model, corpus, how)


def _retrained_record(path: Path, owners: IntArray) -> RetrainedModelRecord:
    digest = digest_of_file(path / "model.safetensors")
    return RetrainedModelRecord(name=path.name, digests=(digest,), users_left_out=len(owners))


def same_public_model(
    choice: PublicChoice | None, record: PublicModelRecord | None, model: Path
) -> bool:
    """Whether a finished run's `record` of its public model is what `choice` would give."""
    if choice is None or record is None:
        return choice is None and record is None
    if record.kind != choice.kind:
        return False
    folder = choice.folder or _beside(model)
    if choice.what == RETRAIN:
        if not record.digests:
            return True
        paths = [folder / record.name]
    elif choice.kind == CROSSFIT:
        home = folder / f"{CROSSFIT}-{choice.folds}" if choice.what == CROSSFIT else None
        paths = sorted((home or Path(choice.what)).glob("fold-*"))
    elif is_pretrained(Path(choice.what)):
        return record.digests == (pretrained_digest(Path(choice.what), None),)
    else:
        paths = [Path(choice.what)]
    found = [path / "model.safetensors" for path in paths]
    return all(path.exists() for path in found) and record.digests == tuple(
        digest_of_file(path) for path in found
    )


def _beside(model: Path) -> Path:
    """`public` in the directory of the training that `model` is the end or a snapshot of."""
    training = model.parent.parent if model.parent.name == "snapshots" else model
    return training / "public"


def _train_without(
    corpus: Corpus,
    target: Path,
    recipe: Recipe,
    users: IntArray,
    threads: int,
    progress: Progress,
) -> None:
    """Train a model without these users, unless it is there already."""
    if (target / "config.json").exists():
        known = load_config(target)
        if (
            not recipe.made(known)
            or known.corpus_digest != corpus.manifest.digest
            or known.without_users is None
            or known.without_users.digest != users_digest(users)
        ):
            raise LeakscopeError(
                f"{target} holds a model of another training; give another --public-dir."
            )
        return
    import torch

    torch.set_num_threads(threads)
    private_directory(target.parent)

    def named(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        progress(f"{target.name} {stage}", done, total, note)

    train(
        corpus,
        target,
        recipe.settings,
        warm_start=recipe.warm_start,
        without_users=users,
        vocabulary_from=recipe.vocabulary_from,
        progress=named,
    )


def _train_folds(
    corpus: Corpus,
    target: Path,
    recipe: Recipe,
    folds: int,
    threads: int,
    progress: Progress,
) -> None:
    """Train one model a fold of the users, each without that fold; finished ones are kept."""
    if not 2 <= folds <= corpus.manifest.users:
        raise LeakscopeError(
            f"The number of folds must lie between 2 and the {corpus.manifest.users} users."
        )
    if (target / "folds.json").exists():
        return
    everybody = np.arange(corpus.manifest.users, dtype=np.int32)
    for fold in range(folds):
        left_out = everybody[fold_of(everybody, folds) == fold]
        _train_without(corpus, target / f"fold-{fold:03d}", recipe, left_out, threads, progress)
    known = Folds(corpus_digest=corpus.manifest.digest, folds=folds, users=corpus.manifest.users)
    write_json(target / "folds.json", known)


def _crossfitted(
    path: Path, audited: Path | None, corpus: Corpus, how: ModelOptions, owners: IntArray
) -> PublicModel:
    """The cross-fitted models in `path`, each proven to have been trained without its users."""
    known = read_json(path / "folds.json", Folds, "a folder of cross-fitted models")
    if known.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(f"The cross-fitted models in {path} are for another corpus.")
    everybody = np.arange(known.users, dtype=np.int32)
    folders = [path / f"fold-{fold:03d}" for fold in range(known.folds)]
    for fold, folder in enumerate(folders):
        left_out = users_digest(everybody[fold_of(everybody, known.folds) == fold])
        prove_unseen(folder, corpus, left_out)
    alike = (
        audited is not None
        and not is_pretrained(audited)
        and (audited / "config.json").exists()
        and all(was_trained_like(load_config(folder), audited) for folder in folders)
    )
    record = CrossFittedModelRecord(
        name=path.name,
        digests=tuple(digest_of_file(folder / "model.safetensors") for folder in folders),
        folds=known.folds,
        owners_judged=len(owners),
        trained_like_the_audited_model=alike,
    )
    return PublicModel(record, partial(_load_folds, folders, corpus.path, how))


def _load_folds(folders: list[Path], corpus: Path, how: ModelOptions) -> LanguageModel:
    models = [load_for_corpus(folder, corpus, how) for folder in folders]
    return ByUser(models, partial(fold_of, folds=len(models)))


def _given(
    path: Path, audited: Path | None, corpus: Corpus, how: ModelOptions, owners: IntArray
) -> PublicModel:
    """A model that somebody chose, with a warning if it has seen the users."""
    config = load_config(path)
    digest = digest_of_file(path / "model.safetensors")
    record = GivenModelRecord(
        name=path.resolve().name,
        digests=(digest,),
        warnings=tuple(seen_warnings(config, digest, audited, corpus, owners)),
        parameters=config.parameters,
    )
    return PublicModel(record, partial(load_for_corpus, path, corpus.path, how))


def _pretrained(path: Path, corpus: Corpus, how: ModelOptions, owners: IntArray) -> PublicModel:
    """A causal model from elsewhere: whom it has seen, nobody can tell from its files."""
    record = GivenModelRecord(
        name=pretrained_name(path),
        digests=(pretrained_digest(path, None),),
        owners_judged=len(owners),
        hub=hub_origin(path),
    )
    return PublicModel(record, partial(load_for_corpus, path, corpus.path, how))


def _nothing() -> LanguageModel:
    raise LeakscopeError("There are no unique sequences, so no public model was trained.")
