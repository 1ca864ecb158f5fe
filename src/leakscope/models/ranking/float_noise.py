"""How far apart two logits must be to be told apart, and how a network's own bound is measured."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

NOISE = 5e-5
"""Logits that differ by less than this times (1 + |logit|) may swap when the batch changes: ten
times what was measured on trained recurrent networks (docs/experiments.md)."""
EXACT_NOISE = 1e-12
"""The same for float64."""
LENGTH = 64
"""Entries in a sequence that a network is tried on."""
MARGIN = 20
"""Over the largest error seen: rare positions among millions are worse than the worst of these."""
STEP = 4.0
"""Bounds are `NOISE` times a power of this, so that they do not depend on the last bits."""


def noise_bound(error: float) -> float:
    """The bound for a network whose largest error seen is this one; at least `NOISE`."""
    steps = math.ceil(math.log(max(1.0, MARGIN * error / NOISE), STEP))
    return float(NOISE * STEP**steps)


def drawn_entries(entries: int, sequences: int, context: int | None) -> Tensor:
    """[sequences, at most LENGTH] entries, drawn with a fixed seed: low ones more often, since
    vocabularies begin with what is frequent.
    """
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(sequences, min(LENGTH, context or LENGTH), generator=generator)
    return ((entries ** drawn.double()).long() - 1).clamp(0, entries - 1)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread computes meanwhile, so that the same weights always have the same bound."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
