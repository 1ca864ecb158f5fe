"""Checkpoints: everything that a killed training needs to go on to the same weights.

The weights and the optimizer's state are safetensors in a folder of their own; a small JSON
file that names the folder is replaced last, so there is always one whole checkpoint.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict

from leakscope.models.word.model_directory import load_weights, save_weights
from leakscope.models.word.networks import Network
from leakscope.records.artifacts import private_directory, read_json, write_json
from leakscope.records.errors import LeakscopeError
from leakscope.training.identity import Identity


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
    out: Path, state: Checkpoint, network: Network, optimizer: torch.optim.Optimizer
) -> None:
    """Write a checkpoint and remove the one before it."""
    root = private_directory(out / "checkpoints")
    folder = private_directory(root / state.folder)
    save_weights(folder / "model.safetensors", network.state_dict())
    tensors, scalars = _flatten(optimizer.state_dict()["state"])
    save_weights(folder / "optimizer.safetensors", tensors)
    write_json(folder / "optimizer.json", scalars)
    write_json(out / "checkpoint.json", state)
    for other in root.iterdir():
        if other.name != state.folder:
            shutil.rmtree(other)


def find_checkpoint(out: Path, identity: Identity) -> Checkpoint | None:
    """The checkpoint of an unfinished training with the same settings, if there is one."""
    if not (out / "checkpoint.json").exists():
        return None
    state = read_json(out / "checkpoint.json", Checkpoint, "a training")
    if state.settings_digest != identity.digest:
        known = state.made_with
        what = (
            "settings or another corpus"
            if known is None
            else f"settings ({identity.changes(known)})"
        )
        raise LeakscopeError(
            f"{out} holds an unfinished training with other {what}; repeat its settings to resume "
            f"it, or choose another --out."
        )
    return state


def load_checkpoint(
    out: Path, state: Checkpoint, network: Network, optimizer: torch.optim.Optimizer
) -> None:
    """Put a checkpoint's weights and optimizer state in place."""
    folder = out / "checkpoints" / state.folder
    network.load_state_dict(load_weights(folder / "model.safetensors"))
    tensors = load_weights(folder / "optimizer.safetensors")
    scalars = json.loads((folder / "optimizer.json").read_text(encoding="utf-8"))
    restored: dict[int, dict[str, Any]] = {}
    for name, value in (tensors | scalars).items():
        parameter, key = name.split(".", 1)
        restored.setdefault(int(parameter), {})[key] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": restored})


def _flatten(
    state: dict[int, dict[str, Any]],
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Optimizer state by "parameter.key", tensors apart from plain numbers."""
    flat = {f"{i}.{key}": value for i, entry in state.items() for key, value in entry.items()}
    tensors = {name: value for name, value in flat.items() if isinstance(value, torch.Tensor)}
    return tensors, {name: value for name, value in flat.items() if name not in tensors}
