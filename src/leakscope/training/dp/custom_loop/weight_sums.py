"""Sums over the bytes of weights, by which a change is noticed however it was made: PyTorch counts
changes through a tensor, but not those through `.data`, through NumPy or by another storage.
"""

from collections.abc import Iterable
from functools import cache

import torch
from torch import Tensor

_PIECE = 2**18
_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32}


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
    whole = flat.view(_WHOLE.get(flat.element_size(), torch.int64))
    factors = _factors(whole.device)
    pieces = (whole[begin : begin + _PIECE] for begin in range(0, len(whole), _PIECE))
    found = [(piece.long() * factors[: len(piece)]).sum() for piece in pieces]
    return torch.stack(found).cpu() if found else torch.zeros(0, dtype=torch.int64)


@cache
def _factors(device: torch.device) -> Tensor:
    """[_PIECE] odd numbers, modulo 2^64: each has an inverse, so that no single change is lost;
    all differ, so that values which change places are seen, too.
    """
    drawn = torch.randint(-(2**62), 2**62, (_PIECE,), generator=torch.Generator().manual_seed(1))
    return (2 * drawn + 1).to(device)
