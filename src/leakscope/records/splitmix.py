"""splitmix64: a fast scrambler of 64-bit numbers (Steele, Lea and Flood, 2014)."""

import numpy as np
import numpy.typing as npt

Unsigned = npt.NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""The odd number by which the generator's state moves on."""


def finalize(value: Unsigned) -> Unsigned:
    """[n] a bijection in which every bit depends on every other."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def scrambled(value: Unsigned) -> Unsigned:
    """[n] the generator's next output from the state `value`, modulo 2^64."""
    with np.errstate(over="ignore"):
        return finalize(value + GAMMA)
