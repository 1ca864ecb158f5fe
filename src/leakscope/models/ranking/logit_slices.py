"""How many rows of logits are in memory at a time."""

from collections.abc import Iterator

LOGITS = 2**24
"""Logits in memory at a time where a question needs all of them: 64 MB."""


def slices(rows: int, vocabulary: int) -> Iterator[slice]:
    """Cut so many rows that each slice has at most `LOGITS` logits (and at least one row)."""
    size = max(1, LOGITS // vocabulary)
    for start in range(0, rows, size):
        yield slice(start, start + size)
