"""How documents are cut for a model with a context of so many words, and put into batches."""

from collections.abc import Iterator
from typing import NamedTuple


class Window(NamedTuple):
    """Positions `start` to `stop` of a document, scored with the inputs from `first` on."""

    document: int
    first: int
    start: int
    stop: int


def first_input(position: int, context: int | None) -> int:
    """The first input that the prediction of `position` sees. Beyond the model's context the
    window moves on by half a context at a time, so at least half of it is always in view.
    """
    if context is None or position < context:
        return 0
    stride = context // 2
    return ((position - context) // stride + 1) * stride


def windows(document: int, length: int, context: int | None) -> Iterator[Window]:
    """Cut a document so that each position is scored once, as `first_input` says."""
    start = 0
    while start < length:
        first = first_input(start, context)
        stop = length if context is None else min(length, first + context)
        yield Window(document, first, start, stop)
        start = stop


def batches(everything: list[Window], words: int) -> Iterator[list[Window]]:
    """Windows of like length together, longest first, at most `words` padded words a batch."""
    order, start = longest_first(everything), 0
    while start < len(order):
        batch = batch_from(order, start, words)
        yield batch
        start += len(batch)


def longest_first(everything: list[Window]) -> list[Window]:
    """Windows by the number of their inputs, falling."""
    return sorted(everything, key=lambda window: window.first - window.stop)


def batch_from(order: list[Window], start: int, words: int) -> list[Window]:
    """As many windows from `start` on, of `longest_first`, as have at most `words` padded words;
    at least one.
    """
    return order[start : start + max(1, words // (order[start].stop - order[start].first))]
