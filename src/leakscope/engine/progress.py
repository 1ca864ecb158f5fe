"""How long work tells how far it is: a plain call, so that stages know nothing of terminals."""

from typing import Protocol


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
        if total is None or done < total:
            progress(stage, done, total, note)

    return told
