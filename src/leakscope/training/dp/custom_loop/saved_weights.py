"""Whether weights that were saved are those of a network, by their values: formats name them
differently.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from leakscope.records.artifacts import damaged
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.carried_privacy import weight_files


def check_saved(weights: Iterable[Tensor], folder: Path) -> None:
    """Refuse a directory in which some of the weights are missing, or have other values."""
    files = weight_files(folder)
    if not files:
        raise LeakscopeError(
            f"{folder} has no weights in safetensors; save the trained network there first, as by "
            f"save_pretrained."
        )
    saved = {digest for file in files for digest in _digests(file)}
    if not {_digest(weight) for weight in weights} <= saved:
        raise LeakscopeError(
            f"The weights in {folder} are not those that the loop has trained so far; save the "
            f"network as it is, without merging or converting it, just before its record."
        )


def _digests(file: Path) -> list[bytes]:
    try:
        with safe_open(file, framework="pt") as opened:
            return [_digest(opened.get_tensor(name)) for name in opened.keys()]  # noqa: SIM118
    except Exception:  # safetensors has errors of its own and passes on the system's
        raise damaged(file) from None


def _digest(tensor: Tensor) -> bytes:
    plain = tensor.detach().cpu().contiguous()
    found = hashlib.blake2b(f"{plain.dtype}{tuple(plain.shape)}".encode(), digest_size=16)
    found.update(plain.reshape(-1).view(torch.uint8).numpy().data)
    return found.digest()
