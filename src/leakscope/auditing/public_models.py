"""Public models: given, retrained without the owners of unique sequences, or cross-fitted."""

from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import (
    answers_digest,
    hub_origin,
    load_for_corpus,
    pretrained_identity,
    pretrained_name,
    word_identity,
)
from leakscope.auditing.provenance import (
    prove_unseen,
    seen_warnings,
    untold_warnings,
)
from leakscope.auditing.public_settings import CROSSFIT, RETRAIN, PublicSettings
from leakscope.auditing.public_training import (
    Folds,
    beside,
    differences_found,
    fold_of,
    folds_folder,
    left_out_of,
    train_folds,
    train_without_owners,
)
from leakscope.auditing.training_recipe import Recipe, differences_from, recipe_of
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.scrutiny.public_surprise import PublicModel, PublicSource
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config, weights_digest
from leakscope.models.word.training_stages import at_stage_of, stage_record, stages_of
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.artifacts import read_json
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import users_digest
from leakscope.records.models.public_model import (
    CrossFittedModelRecord,
    GivenModelRecord,
    PublicModelRecord,
    RetrainedModelRecord,
    StageRecord,
)


def with_model_found(public: PublicSettings) -> PublicSettings:
    """The same, with a given model found if it is a name of the hub's."""
    if public.public is None:
        return public
    _refuse_mistyped(public.public)
    return replace(public, public=str(find_model(Path(public.public))))


def _refuse_mistyped(name: str) -> None:
    """Raise if what is not there and no path looks like retrain or crossfit, mistyped."""
    if name in (RETRAIN, CROSSFIT) or "/" in name or Path(name).exists():
        return
    near = get_close_matches(name.lower(), (RETRAIN, CROSSFIT), 1)
    if near:
        raise LeakscopeError(f"There is no public model {name}; did you mean {near[0]}?")


def public_source(
    public: PublicSettings,
    model: Path | None,
    corpus: Corpus,
    *,
    how: LoadingSettings,
    progress: Progress,
) -> PublicSource | None:
    """How the public model of a report on `model` (None: one that is served elsewhere) is come
    by; None: there is to be none.
    """
    if public.public is None:
        return None
    if public.public in (RETRAIN, CROSSFIT):
        if model is None:
            raise LeakscopeError(
                "How the endpoint's model was trained is not known here; give a --public MODEL, "
                "such as its base."
            )
        recipe = recipe_of(model, corpus, public.warm_start)
        folder = public.public_dir or beside(model)
        if public.public == RETRAIN:
            return partial(_retrained, folder, recipe, model, corpus, how, progress)
        target = train_folds(corpus, folder, recipe, public.folds, how.threads, progress)
        return partial(_crossfitted, target, model, corpus, how)
    path = Path(public.public)
    if public.kind == CROSSFIT:
        return partial(_crossfitted, path, model, corpus, how)
    if is_pretrained(path):
        return partial(_pretrained, path, answers_digest(path, how), corpus, how)
    load_config(path)
    weights_digest(path)  # found missing now, not after hours of scoring
    return partial(_given, path, model, corpus, how)


def same_public_model(
    public: PublicSettings,
    record: PublicModelRecord | None,
    *,
    model: Path,
    corpus: Corpus,
    how: LoadingSettings,
) -> bool:
    """Whether a finished run's `record` of its public model is what `public` would give a report
    on `model` now.
    """
    if public.public is None or record is None:
        return public.public is None and record is None
    if record.kind != public.kind:
        return False
    if public.kind == "given" and is_pretrained(Path(public.public)):
        return record.digests == (answers_digest(Path(public.public), how),)
    paths = _kept(public, record.name, model) if record.digests else []
    there = all((path / "model.safetensors").exists() for path in paths)
    if not there or record.digests != tuple(weights_digest(path) for path in paths):
        return False
    if public.public in (RETRAIN, CROSSFIT):
        recipe = recipe_of(model, corpus, public.warm_start)
        if any(differences_found(path, corpus, recipe) for path in paths):
            return False
    return isinstance(record, GivenModelRecord) or record.stage == _stage(record, model, paths)


def _kept(public: PublicSettings, name: str, model: Path) -> list[Path]:
    """Where the public models of a finished run are, by the name that the run has of them."""
    folder, path = public.public_dir or beside(model), Path(str(public.public))
    if public.public == RETRAIN:
        return [folder / name]
    if public.kind == CROSSFIT:
        home = folds_folder(folder, public.folds) if public.public == CROSSFIT else path
        return sorted(home.glob("fold-*"))
    return [path]


def _stage(record: PublicModelRecord, model: Path, paths: list[Path]) -> StageRecord | None:
    """What a report on `model` says of the stage of the public models in `paths`."""
    if isinstance(record, GivenModelRecord) or not paths:  # without owners none was trained
        return None
    alike = isinstance(record, RetrainedModelRecord) or record.trained_like_the_audited_model
    return stage_record(model, paths) if alike else None


def _retrained(
    folder: Path,
    recipe: Recipe,
    audited: Path,
    corpus: Corpus,
    how: LoadingSettings,
    progress: Progress,
    owners: IntArray,
) -> PublicModel:
    """A model that was trained without the owners of unique sequences, proven to be so."""
    if not len(owners):
        return PublicModel(
            RetrainedModelRecord(name="none needed", digests=()), _nothing, AnswerIdentity("")
        )
    target = train_without_owners(corpus, folder, recipe, owners, how.threads, progress)
    prove_unseen(target, corpus, users_digest(owners))
    digest = weights_digest(target)
    record = RetrainedModelRecord(
        name=target.name,
        digests=(digest,),
        warnings=tuple(untold_warnings(load_config(target))),
        users_left_out=len(owners),
        stage=stage_record(audited, [target]),
    )
    stage = at_stage_of(audited, target)
    load = partial(load_for_corpus, corpus=corpus.path, how=how)
    model = PublicModel(record, partial(load, target), word_identity([target], how))
    if stage is None:
        return model
    then = replace(model, load=partial(load, stage), identity=word_identity([stage], how))
    return replace(model, alike=then)


def _crossfitted(
    path: Path, audited: Path | None, corpus: Corpus, how: LoadingSettings, owners: IntArray
) -> PublicModel:
    """The cross-fitted models in `path`, each proven to have been trained without its users."""
    known = read_json(path / "folds.json", Folds, "a folder of cross-fitted models")
    if known.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(f"The cross-fitted models in {path} are for another corpus.")
    folders = [path / f"fold-{fold:03d}" for fold in range(known.folds)]
    for fold, folder in enumerate(folders):
        left_out = left_out_of(fold, known.folds, known.users)
        prove_unseen(folder, corpus, users_digest(left_out))
    otherwise = _otherwise(folders, audited)
    record = CrossFittedModelRecord(
        name=path.name,
        digests=tuple(weights_digest(folder) for folder in folders),
        folds=known.folds,
        owners_judged=len(owners),
        warnings=(*otherwise, *untold_warnings(load_config(folders[0]))),
        trained_like_the_audited_model=not otherwise,
        stage=None if audited is None or otherwise else stage_record(audited, folders),
    )
    stages = None if audited is None or otherwise else stages_of(audited, folders)
    load = partial(_load_folds, corpus=corpus.path, how=how)
    model = PublicModel(record, partial(load, folders), word_identity(folders, how))
    if stages is None:
        return model
    then = replace(model, load=partial(load, stages), identity=word_identity(stages, how))
    return replace(model, alike=then)


def _otherwise(folders: list[Path], audited: Path | None) -> tuple[str, ...]:
    """A warning if cross-fitted models were not trained like the audited one."""
    if audited is None or is_pretrained(audited):
        changes = ["it is not a word-level model"]
    else:
        every = [differences_from(audited, load_config(folder)) for folder in folders]
        changes = list(dict.fromkeys(change for found in every for change in found))
    if not changes:
        return ()
    return (
        f"The cross-fitted models were not trained like the audited model ({', '.join(changes)}): "
        "the ratios and the leakage epsilon measure that difference, too.",
    )


def _load_folds(folders: list[Path], corpus: Path, how: LoadingSettings) -> LanguageModel:
    models = [load_for_corpus(folder, corpus, how) for folder in folders]
    return ByUser(models, partial(fold_of, folds=len(models)))


def _given(
    path: Path, audited: Path | None, corpus: Corpus, how: LoadingSettings, owners: IntArray
) -> PublicModel:
    """A model that somebody chose, with a warning if it has seen the users."""
    config = load_config(path)
    digest = weights_digest(path)
    record = GivenModelRecord(
        name=path.resolve().name,
        digests=(digest,),
        warnings=tuple(seen_warnings(config, digest, audited, corpus, owners)),
        parameters=config.parameters,
    )
    load = partial(load_for_corpus, path, corpus.path, how)
    return PublicModel(record, load, word_identity([path], how))


def _pretrained(
    path: Path, digest: str, corpus: Corpus, how: LoadingSettings, owners: IntArray
) -> PublicModel:
    """A causal model from elsewhere: whom it has seen, nobody can tell from its files."""
    record = GivenModelRecord(
        name=pretrained_name(path),
        digests=(digest,),
        owners_judged=len(owners),
        hub=hub_origin(path),
    )
    load = partial(load_for_corpus, path, corpus.path, how)
    return PublicModel(record, load, pretrained_identity(path, digest, how))


def _nothing() -> LanguageModel:
    raise LeakscopeError("There are no unique sequences, so no public model was trained.")
