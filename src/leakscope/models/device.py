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
        raise LeakscopeError(f"There is no device {name} here; try --device cpu.") from None
    return device
