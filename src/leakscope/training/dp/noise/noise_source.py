"""Gaussian noise for private training.

The random bits are those of OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A), which
takes its key from the operating system and renews it: as hard to predict as the system's own, at
fifteen times the speed, which noise for millions of weights a step needs. 64 bits or more make a
normal in float64, with tails that have no end (see `ziggurat`).

Whoever could predict the noise could subtract it. So a seed, which makes a run reproducible, also
makes its guarantee void against whoever may learn it; hence the name of `InsecureNoise`. Neither
source protects against attacks on floating-point arithmetic (Mironov, 2012).
"""

import math
import ssl
from collections.abc import Iterable
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.noise.ziggurat import Words, add_normals
from leakscope.training.steps.threads import PieceRunner, in_threads, in_turn

CHUNK = 2**17  # values drawn at a time; fewer, and the threads wait for each other
Values = npt.NDArray[np.floating]
_OWN = (torch.float32, torch.float64)  # what noise is added to in place


class NoiseSource(Protocol):
    """Where noise comes from."""

    @property
    def insecure(self) -> bool:
        """Whether somebody who knows a seed could compute the noise."""
        ...

    def add_(self, tensors: Iterable[Tensor], deviation: float, step: int) -> None:
        """Add independent normal noise of this standard deviation to every value of every tensor,
        in place. One call a step: a source may derive the noise from the step's number.
        """
        ...


class SystemNoise:
    """Noise that nobody can predict; no two calls are alike."""

    insecure = False

    def add_(self, tensors: Iterable[Tensor], deviation: float, step: int) -> None:
        """See `NoiseSource`; the step's number is not used."""
        check_deviation(deviation)
        _add(tensors, deviation, system_words, in_threads)


class InsecureNoise:
    """Noise from a seed and the step's number (Philox): reproducible, hence predictable."""

    insecure = True

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def add_(self, tensors: Iterable[Tensor], deviation: float, step: int) -> None:
        """See `NoiseSource`; the same for equal seeds, steps and shapes."""
        check_deviation(deviation)
        key = np.random.SeedSequence([self._seed, step], spawn_key=(1,))
        generator = np.random.Philox(key)
        _add(tensors, deviation, lambda count: generator.random_raw(count).view(np.int64), in_turn)


def noise_source(insecure_seed: int | None) -> NoiseSource:
    """Noise that nobody can predict, unless an insecure seed is given."""
    return SystemNoise() if insecure_seed is None else InsecureNoise(insecure_seed)


def system_words(count: int) -> LongArray:
    """[count] words of 64 random bits that nobody can predict."""
    return np.frombuffer(ssl.RAND_bytes(8 * count), np.int64)


def check_deviation(deviation: float) -> None:
    """Refuse a deviation that is no number; 0 is asked for only by who wants no noise."""
    if not 0 < deviation < math.inf:
        raise LeakscopeError("The noise's standard deviation must be positive and finite.")


def _add(
    tensors: Iterable[Tensor], deviation: float, words: Words, run: PieceRunner[Values]
) -> None:
    add = partial(add_normals, deviation=deviation, words=words)
    pieces: list[Values] = []
    for tensor in tensors:
        if tensor.is_cpu and tensor.is_contiguous() and tensor.dtype in _OWN:
            values = tensor.detach().view(-1).numpy()
            pieces += [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]
        else:
            noise = np.zeros(tensor.numel())
            add(noise)
            given = torch.from_numpy(noise).view(tensor.shape)
            tensor.detach().add_(given.to(device=tensor.device, dtype=tensor.dtype))
    run(add, pieces)
