"""Models that stand in for the audited one before users that they never saw: trained here, or
given.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import word_identity
from leakscope.auditing.model_subject import load_word_level
from leakscope.auditing.provenance import prove_unseen
from leakscope.auditing.public_settings import CROSSFIT, PublicSettings
from leakscope.auditing.public_training import (
    Folds,
    beside,
    differences_found,
    fold_of,
    left_out_of,
    train_folds,
)
from leakscope.auditing.training_recipe import Recipe, recipe_of
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.chance.stand_ins import StandIns
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config, weights_digest
from leakscope.models.word.training_stages import at_stage_of
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.artifacts import read_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import users_digest
from leakscope.records.models.stand_in_record import StandInsRecord

FOLDER = "stand-ins"
MORE_FOLDS = 1
"""Than public models have, so that the two sets part the users differently."""
OTHER_SEED = 1
"""What is added to the audited model's seed."""


def stand_ins_of(
    public: PublicSettings,
    model: Path | None,
    corpus: Corpus,
    *,
    how: LoadingSettings,
    block_list: Path | None,
    progress: Progress,
) -> StandIns | None:
    """The stand-ins of a report on `model` (None: one that is served elsewhere), behind its block
    list, trained if need be; None: there are to be none.
    """
    if public.stand_ins is None:
        return None
    if model is None or is_pretrained(model):
        raise LeakscopeError(
            "Stand-ins are trained as the audited model was, which is not known here; leave out "
            "--stand-ins."
        )
    recipe = recipe_of(model, corpus, public.warm_start)
    path = Path(public.stand_ins)
    if public.stand_ins == CROSSFIT:
        settings = replace(recipe.settings, seed=recipe.settings.seed + OTHER_SEED)
        other, folder = replace(recipe, settings=settings), _folder(public, model)
        folds = public.folds + MORE_FOLDS
        path = train_folds(corpus, folder, other, folds, how.threads, progress)
    folders = _stages(path, model, corpus, recipe)
    record = StandInsRecord(
        name=path.name,
        digests=tuple(weights_digest(folder) for folder in folders),
        folds=len(folders),
    )
    load = partial(_load, folders, corpus.path, how, block_list)
    return StandIns(record, load, word_identity(folders, how))


def same_stand_ins(
    public: PublicSettings, record: StandInsRecord | None, model: Path, corpus: Corpus
) -> bool:
    """Whether a finished run's `record` of its stand-ins is what `public` would give a report on
    `model` now.
    """
    if public.stand_ins is None or record is None:
        return public.stand_ins is None and record is None
    path = Path(public.stand_ins)
    if public.stand_ins == CROSSFIT:
        path = _folder(public, model) / f"{CROSSFIT}-{public.folds + MORE_FOLDS}"
    if not (path / "folds.json").exists():
        return False
    recipe = recipe_of(model, corpus, public.warm_start)
    folders = _stages(path, model, corpus, recipe)
    return record.digests == tuple(weights_digest(folder) for folder in folders)


def _folder(public: PublicSettings, model: Path) -> Path:
    return (public.public_dir or beside(model)) / FOLDER


def _stages(path: Path, model: Path, corpus: Corpus, recipe: Recipe) -> list[Path]:
    """The cross-fitted models in `path` at the audited model's stage of training, each proven to
    have been trained like it, but for the seed, and without its users.
    """
    known = read_json(path / "folds.json", Folds, "a folder of cross-fitted models")
    if known.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(f"The stand-ins in {path} are for another corpus.")
    found = []
    for fold in range(known.folds):
        folder = path / f"fold-{fold:03d}"
        stage = at_stage_of(model, folder)
        if stage is None:
            raise LeakscopeError(
                f"The stand-ins in {path} have not kept what they were at {model.name}; remove "
                f"them, to train others, or report on a stage that they have kept."
            )
        folder = stage
        prove_unseen(folder, corpus, users_digest(left_out_of(fold, known.folds, known.users)))
        seed = load_config(folder).training.get("seed", recipe.settings.seed)
        alike = replace(recipe, settings=replace(recipe.settings, seed=seed))
        changes = differences_found(folder, corpus, alike)
        if changes:
            raise LeakscopeError(
                f"The stand-ins in {path} were not trained like the audited model "
                f"({', '.join(changes)}); give --stand-ins crossfit."
            )
        found.append(folder)
    audited = weights_digest(model)
    if any(weights_digest(folder) == audited for folder in found):
        raise LeakscopeError("The audited model is among its stand-ins; give other ones.")
    return found


def _load(
    folders: list[Path], corpus: Path, how: LoadingSettings, block_list: Path | None
) -> LanguageModel:
    models = [load_word_level(folder, corpus, how, block_list) for folder in folders]
    return ByUser(models, partial(fold_of, folds=len(models)))
