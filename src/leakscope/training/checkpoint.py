"""Checkpoints: everything that a killed training needs to go on to the same weights.

The weights and the optimizer's state are safetensors in a folder of their own, which has a seal; a
small JSON file that names the folder is replaced last, so there is always one whole checkpoint. The
folder keeps a copy of that file, so that its bytes are sealed, too.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict

from leakscope.models.word.model_directory import load_weights, save_weights
from leakscope.records.artifacts import (
    checked_bytes,
    damaged,
    missing,
    private_directory,
    read_json,
    seal_files,
    sealed_digest,
    write_json,
)
from leakscope.records.errors import OtherTrainingError
from leakscope.records.output_claim import remove
from leakscope.records.seal import SEAL
from leakscope.training.identity import Identity
from leakscope.training.mitigations.mitigation import Mitigation, TrainedNetwork

RECORD = "checkpoint.json"
_FOLDER = re.compile(r"\d{5,}-\d{9,}(-\d+)?")  # as `folder_name` and `_unused` make them


class Checkpoint(BaseModel):
    """`checkpoint.json`: where a training stands."""

    model_config = ConfigDict(frozen=True)

    settings_digest: str
    made_with: dict[str, Any] | None = None
    """See `Identity.shareable`; None in those of older versions."""
    folder: str
    epoch: int
    """Finished epochs."""
    step: int
    """Steps taken in the running epoch."""
    total_steps: int
    loss: float
    """Sum of the running epoch's losses over its words."""
    words: int
    """Predictions of the running epoch so far."""
    seconds: float
    """Time spent in steps so far."""
    history: list[dict[str, Any]]
    folder_sealed: bool = False
    """Whether the folder has a seal; those of older versions have none."""


def save_checkpoint(
    out: Path,
    state: Checkpoint,
    model: TrainedNetwork,
    mitigation: Mitigation,
) -> None:
    """Write a checkpoint of the model and of what its mitigation adds; remove the one before."""
    root = private_directory(out / "checkpoints")
    folder = private_directory(_unused(root, state.folder))
    state = state.model_copy(update={"folder": folder.name, "folder_sealed": True})
    for prefix, trained in _networks(model, mitigation).items():
        save_weights(folder / f"{prefix}model.safetensors", trained.network.state_dict())
        _save_values(folder, f"{prefix}optimizer", _flat(trained.optimizer.state_dict()["state"]))
    if kept := mitigation.state():
        _save_values(folder, "mitigation", kept)
    write_json(folder / RECORD, state)
    seal_files(folder, [file.name for file in folder.iterdir()])
    write_json(out / RECORD, state)
    _remove_others(root, state.folder)


def _unused(root: Path, name: str) -> Path:
    """A folder of this name that is not there yet: what the last checkpoint has must not change
    before the next one is whole.
    """
    found, number = root / name, 0
    while found.exists():
        number += 1
        found = root / f"{name}-{number}"
    return found


def remove_checkpoints(out: Path) -> None:
    """Remove the checkpoints of a training that is finished, and nothing that is not ours."""
    (out / RECORD).unlink(missing_ok=True)
    root = out / "checkpoints"
    if root.is_dir():
        _remove_others(root)
        with suppress(OSError):
            root.rmdir()


def folder_name(epoch: int, step: int) -> str:
    """Where the checkpoint after so many steps is kept."""
    return f"{epoch:05d}-{step:09d}"


def _remove_others(root: Path, kept: str | None = None) -> None:
    for other in root.iterdir():
        if other.name != kept and _FOLDER.fullmatch(other.name):
            remove(other)


def find_checkpoint(out: Path, identity: Identity) -> Checkpoint | None:
    """The checkpoint of an unfinished training with the same settings, if there is one."""
    if not (out / RECORD).exists():
        return None
    state = read_json(out / RECORD, Checkpoint, "a training")
    _require_copy(out, state)
    if state.settings_digest != identity.digest:
        known = state.made_with
        changes = "" if known is None else identity.changes(known)
        what = f"settings ({changes})" if changes else "settings or another corpus"
        raise OtherTrainingError(
            f"{out} holds an unfinished training with other {what}; repeat its settings to resume "
            f"it, or choose another --out.",
            changes or "other settings or another corpus",
        )
    return state


def _require_copy(out: Path, state: Checkpoint) -> None:
    """Raise unless the record is just the one that is sealed in its folder."""
    folder = out / "checkpoints" / state.folder
    if not _FOLDER.fullmatch(state.folder):
        raise damaged(out / RECORD)
    if not state.folder_sealed and not (folder / SEAL).exists():
        return  # of an older version
    try:
        if checked_bytes(folder / RECORD) == (out / RECORD).read_bytes():
            return
    except FileNotFoundError:
        if (folder / SEAL).exists():
            raise missing(folder / RECORD) from None
    raise damaged(out / RECORD)


def load_checkpoint(
    out: Path, state: Checkpoint, model: TrainedNetwork, mitigation: Mitigation
) -> None:
    """Put a checkpoint's weights and optimizer states in place, and what the mitigation added."""
    folder = out / "checkpoints" / state.folder
    for prefix, trained in _networks(model, mitigation).items():
        trained.network.load_state_dict(load_weights(folder / f"{prefix}model.safetensors"))
        restored: dict[int, dict[str, Any]] = {}
        for name, value in _load_values(folder, f"{prefix}optimizer").items():
            parameter, key = name.split(".", 1)
            restored.setdefault(int(parameter), {})[key] = value
        optimizer = trained.optimizer
        optimizer.load_state_dict(optimizer.state_dict() | {"state": restored})
    kept = folder / "mitigation.json"
    if kept.exists() or sealed_digest(kept) is not None:
        mitigation.restore(_load_values(folder, "mitigation"))


def _networks(model: TrainedNetwork, mitigation: Mitigation) -> dict[str, TrainedNetwork]:
    """All networks of a training, by what the names of their files begin with."""
    extra = {f"extra-{name}-": each for name, each in mitigation.extra_networks.items()}
    return {"": model, **extra}


def _flat(state: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Optimizer state by "parameter.key"."""
    return {f"{i}.{key}": value for i, entry in state.items() for key, value in entry.items()}


def _save_values(folder: Path, name: str, values: Mapping[str, Any]) -> None:
    """Write named values, tensors apart from plain ones."""
    tensors = {key: value for key, value in values.items() if isinstance(value, torch.Tensor)}
    save_weights(folder / f"{name}.safetensors", tensors)
    plain = {key: value for key, value in values.items() if key not in tensors}
    write_json(folder / f"{name}.json", plain)


def _load_values(folder: Path, name: str) -> dict[str, Any]:
    """Read what `_save_values` wrote."""
    try:
        plain = json.loads(checked_bytes(folder / f"{name}.json"))
    except FileNotFoundError:
        raise missing(folder / f"{name}.json") from None
    return {**load_weights(folder / f"{name}.safetensors"), **plain}
