"""How far models that were trained like the audited one had come when they are asked: as far as it
had.
"""

from collections.abc import Sequence
from pathlib import Path

from leakscope.models.word.model_directory import load_config, weights_digest
from leakscope.records.models.audited_model import TrainingProgress, progress_of
from leakscope.records.models.public_model import StageRecord

SNAPSHOTS = "snapshots"


def is_snapshot(model: Path) -> bool:
    """Whether the model in this directory is a snapshot, and not the end of its training."""
    return model.parent.name == SNAPSHOTS


def at_stage_of(model: Path, folder: Path) -> Path | None:
    """Where the training in `folder` had come as far as that of `model`: at its end, if `model` is
    an end; else at its snapshot of the same name, or at its end if that came first. None: it has
    not kept what it was then.
    """
    if not is_snapshot(model):
        return folder
    same = folder / SNAPSHOTS / model.name
    if (same / "config.json").exists():
        return same
    ended, wanted = _progress(folder).step, _progress(model).step
    return folder if ended is not None and wanted is not None and ended <= wanted else None


def stages_of(model: Path, folders: Sequence[Path]) -> list[Path] | None:
    """`at_stage_of` for each of these trainings; None if one of them has not kept it."""
    found = [stage for folder in folders if (stage := at_stage_of(model, folder)) is not None]
    return found if len(found) == len(folders) else None


def stage_record(model: Path, folders: Sequence[Path]) -> StageRecord | None:
    """What is said of these trainings at the stage of `model`; None if it is the end of its own."""
    if not is_snapshot(model):
        return None
    stages = stages_of(model, folders) or []
    return StageRecord(
        snapshot=model.name,
        epochs=tuple(_progress(stage).epoch for stage in stages),
        digests=tuple(weights_digest(stage) for stage in stages),
    )


def _progress(model: Path) -> TrainingProgress:
    return progress_of(load_config(model))
