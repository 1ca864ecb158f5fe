"""How long work tells how far it is: a plain call, so that stages know nothing of terminals."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

WARNING = "warning"
"""The stage whose notes are told whatever else is."""
NAMED = 3
"""How many damaged files are named; the others are counted."""


class Progress(Protocol):
    """Receives how far a stage is."""

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        """`done` of `total` (None: not known) units of `stage`; `note` is shown as it is."""
        ...


def silent(stage: str, done: int, total: int | None = None, note: str = "") -> None:
    """Progress that nobody watches."""


def before_the_end(progress: Progress) -> Progress:
    """What a stage tells on its way; at the end the caller says what came of it."""

    def told(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if total is None or done < total or stage == WARNING:
            progress(stage, done, total, note)

    return told


def only_warnings(progress: Progress) -> Progress:
    """What is told of work that is a part of other work: nothing but warnings."""

    def told(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if stage == WARNING:
            progress(stage, done, total, note)

    return told


def tell_damaged(paths: Sequence[Path], progress: Progress) -> None:
    """Name what was kept but is not as it was written, so that it is made again."""
    count = len(paths)
    for number, path in enumerate(paths[:NAMED], 1):
        note = f"damaged, made again: {path.name} in {path.parent}"
        progress(WARNING, number, count, note)
    if count > NAMED:
        note = f"damaged, made again: {count - NAMED} more in {paths[-1].parent}"
        progress(WARNING, count, count, note)
