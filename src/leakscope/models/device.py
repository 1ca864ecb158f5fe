"""Which device a model runs on."""

import torch

from leakscope.records.errors import LeakscopeError


def choose_device(name: str) -> torch.device:
    """The device of this name, checked to be there; "auto": a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise _not_here(name) from None
    return device


def device_kind(name: str) -> str:
    """The kind of the device of this name, such as cpu or cuda, whether it is there or not."""
    if name == "auto":
        return choose_device(name).type
    try:
        return torch.device(name).type
    except RuntimeError:
        raise _not_here(name) from None


def _not_here(name: str) -> LeakscopeError:
    return LeakscopeError(f"There is no device {name} here; try --device cpu.")
