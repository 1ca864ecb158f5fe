"""Sums over the bytes of weights, by which a change is noticed however it was made: PyTorch counts
changes through a tensor, but not those through `.data`, through NumPy or by another storage.
"""

from collections.abc import Iterable
from functools import cache

import torch
from torch import Tensor

_PIECE = 2**16
"""Numbers of 8 bytes: as many as stay in a cache."""


@torch.no_grad()
def sums_of(tensors: Iterable[Tensor]) -> list[Tensor]:
    """For each tensor, int64 sums over its pieces, in memory of the CPU: other ones if a value has
    changed, and with as good as certainty if several have. One pass over the memory.
    """
    return [_sums(tensor.detach()) for tensor in tensors]


def same(before: list[Tensor], now: list[Tensor]) -> bool:
    """Whether two results of `sums_of` are of the same values."""
    return len(before) == len(now) and all(map(torch.equal, before, now))


def _sums(tensor: Tensor) -> Tensor:
    flat = tensor.contiguous().reshape(-1)
    if flat.storage_offset() * flat.element_size() % 8:
        flat = flat.clone()
    content = flat.view(torch.uint8)
    whole = len(content) // 8 * 8
    factors = _factors(content.device)
    numbers = content[:whole].view(torch.int64)
    pieces = [numbers[begin : begin + _PIECE] for begin in range(0, len(numbers), _PIECE)]
    pieces.append(content[whole:].long())
    return torch.stack([(piece * factors[: len(piece)]).sum() for piece in pieces]).cpu()


@cache
def _factors(device: torch.device) -> Tensor:
    """[_PIECE] odd numbers, modulo 2^64: each has an inverse, so that no single change is lost;
    all differ, so that values which change places are seen, too.
    """
    drawn = torch.randint(-(2**62), 2**62, (_PIECE,), generator=torch.Generator().manual_seed(1))
    return (2 * drawn + 1).to(device)
