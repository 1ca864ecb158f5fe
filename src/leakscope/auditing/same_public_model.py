"""Whether the public model of a finished run is the one that a report would have now."""

from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import answers_digest
from leakscope.auditing.public_settings import CROSSFIT, RETRAIN, PublicSettings
from leakscope.auditing.public_training import beside, differences_found, folds_folder
from leakscope.auditing.training_recipe import recipe_of
from leakscope.auditing.training_stages import stage_record
from leakscope.corpus.store import Corpus
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import weights_digest
from leakscope.records.models.public_model import (
    GivenModelRecord,
    PublicModelRecord,
    RetrainedModelRecord,
    StageRecord,
)


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
