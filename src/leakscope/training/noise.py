"""Gaussian noise for private training.

The random bits are those of OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A), which
takes its key from the operating system and renews it: as hard to predict as the system's own, at
fifteen times the speed, which noise for millions of weights a step needs. 53 bits each for the
radius and the angle make a pair of normals (Box and Muller) in float64, reaching 8.5 standard
deviations.

Whoever could predict the noise could subtract it. So a seed, which makes a run reproducible, also
makes its guarantee void against whoever may learn it; hence the name of `InsecureNoise`. Neither
source protects against attacks on floating-point arithmetic (Mironov, 2012).
"""

import math
import ssl
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from leakscope.records.errors import LeakscopeError

CHUNK = 2**16  # values drawn at a time, so that they stay in the processor's cache


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
        for tensor in tensors:
            flat = torch.empty(tensor.numel(), dtype=torch.float64)
            for start in range(0, len(flat), CHUNK):
                part = flat[start : start + CHUNK]
                part.copy_(system_normals(len(part)))
            _add(tensor, flat, deviation)


class InsecureNoise:
    """Noise from a seed and the step's number (Philox): reproducible, hence predictable."""

    insecure = True

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def add_(self, tensors: Iterable[Tensor], deviation: float, step: int) -> None:
        """See `NoiseSource`; the same for equal seeds, steps and shapes."""
        check_deviation(deviation)
        key = np.random.SeedSequence([self._seed, step], spawn_key=(1,))
        generator = np.random.Generator(np.random.Philox(key))
        for tensor in tensors:
            normals = generator.standard_normal(tensor.numel())
            _add(tensor, torch.from_numpy(normals), deviation)


def noise_source(insecure_seed: int | None) -> NoiseSource:
    """Noise that nobody can predict, unless an insecure seed is given."""
    return SystemNoise() if insecure_seed is None else InsecureNoise(insecure_seed)


def system_normals(count: int) -> Tensor:
    """[count] independent standard normals in float64, which nobody can predict."""
    half = -(-count // 2)
    bits = np.frombuffer(ssl.RAND_bytes(16 * half), np.uint64) >> np.uint64(11)
    # In (0, 1], so that the logarithm is finite.
    uniform = torch.from_numpy(bits.astype(np.float64)).add_(1).mul_(2.0**-53)
    radius = uniform[:half].log_().mul_(-2).sqrt_()
    angle = uniform[half:].mul_(2 * math.pi)
    pairs = torch.empty(2, half, dtype=torch.float64)
    torch.cos(angle, out=pairs[0])
    torch.sin(angle, out=pairs[1])
    return pairs.mul_(radius).view(-1)[:count]


def check_deviation(deviation: float) -> None:
    """Refuse a deviation that is no number; 0 is asked for only by who wants no noise."""
    if not 0 < deviation < math.inf:
        raise LeakscopeError("The noise's standard deviation must be positive and finite.")


def _add(tensor: Tensor, normals: Tensor, deviation: float) -> None:
    scaled = normals.mul_(deviation).view(tensor.shape)
    with torch.no_grad():
        tensor.add_(scaled.to(device=tensor.device, dtype=tensor.dtype))
