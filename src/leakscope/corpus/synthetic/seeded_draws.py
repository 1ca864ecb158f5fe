"""Random draws that depend only on the seed and a label."""

import math
import random
from collections.abc import Sequence
from functools import lru_cache


def source(seed: int, *label: str | int) -> random.Random:
    """A generator of its own for (seed, label), equal on every machine."""
    return random.Random(":".join(map(str, (seed, *label))))  # noqa: S311


@lru_cache(maxsize=256)
def _line(seed: int, label: str, size: int) -> tuple[int, int]:
    """Slope and offset of a one-to-one map of range(size) to itself."""
    draw = source(seed, "scramble", label)
    slope = draw.randrange(size // 4, size)
    while math.gcd(slope, size) != 1:
        slope += 1
    return slope, draw.randrange(size)


def scramble(seed: int, label: str, index: int, size: int) -> int:
    """A number below `size` for `index`: distinct indices below `size` get distinct numbers.

    This is what makes planted items unique without remembering the earlier ones.
    """
    slope, offset = _line(seed, label, size)
    return (index * slope + offset) % size


def digits(number: int, sizes: Sequence[int]) -> list[int]:
    """The mixed-radix digits of `number`, one for each of `sizes`: one-to-one below prod(sizes)."""
    found = []
    for size in sizes:
        number, digit = divmod(number, size)
        found.append(digit)
    return found


def pick(seed: int, label: str, index: int, choices: Sequence[Sequence[str]]) -> list[str]:
    """One of each of `choices`; the combination is distinct for distinct indices."""
    sizes = [len(options) for options in choices]
    chosen = digits(scramble(seed, label, index, math.prod(sizes)), sizes)
    return [options[digit] for options, digit in zip(choices, chosen, strict=True)]
