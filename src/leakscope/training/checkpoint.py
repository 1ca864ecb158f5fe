"""Checkpoints: everything that a killed training needs to go on to the same weights.

The weights and the optimizer's state are safetensors in a folder of their own; a small JSON
file that names the folder is replaced last, so there is always one whole checkpoint.
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
from leakscope.records.artifacts import private_directory, read_json, write_json
from leakscope.records.errors import OtherTrainingError
from leakscope.records.output_claim import remove
from leakscope.training.identity import Identity
from leakscope.training.mitigations.mitigation import Mitigation, TrainedNetwork

_FOLDER = re.compile(r"\d{5,}-\d{9,}")  # as `folder_name` makes them


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


def save_checkpoint(
    out: Path,
    state: Checkpoint,
    model: TrainedNetwork,
    mitigation: Mitigation,
) -> None:
    """Write a checkpoint of the model and of what its mitigation adds; remove the one before."""
    root = private_directory(out / "checkpoints")
    folder = private_directory(root / state.folder)
    for prefix, trained in _networks(model, mitigation).items():
        save_weights(folder / f"{prefix}model.safetensors", trained.network.state_dict())
        _save_values(folder, f"{prefix}optimizer", _flat(trained.optimizer.state_dict()["state"]))
    if kept := mitigation.state():
        _save_values(folder, "mitigation", kept)
    write_json(out / "checkpoint.json", state)
    _remove_others(root, state.folder)


def remove_checkpoints(out: Path) -> None:
    """Remove the checkpoints of a training that is finished, and nothing that is not ours."""
    (out / "checkpoint.json").unlink(missing_ok=True)
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
    if not (out / "checkpoint.json").exists():
        return None
    state = read_json(out / "checkpoint.json", Checkpoint, "a training")
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
    if (folder / "mitigation.json").exists():
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
    plain = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {**load_weights(folder / f"{name}.safetensors"), **plain}
