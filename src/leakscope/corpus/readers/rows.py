"""What every reader yields: one row per document, or the reason why it cannot be used."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from leakscope.corpus.readers.input_settings import InputSettings

NULL_USER = "null user"
EMPTY_TEXT = "empty text"
INVALID_UTF8 = "invalid UTF-8"
MALFORMED = "malformed record"
DELETED_AUTHOR = "deleted author"
REMOVED_TEXT = "removed text"
TOO_LONG = "too long"
TOO_COMPLEX = "too complex"
LINK_OUTSIDE = "link to outside"
LINK_NOWHERE = "link to nowhere"
UNKNOWN_SPLIT = "unknown split"


class Origin(NamedTuple):
    """Where a document comes from."""

    input: int
    """The place of its file among the `origins` of the corpus."""
    row: int
    """Which record of that file it is, counted from 1; those that are set aside count, too."""


class Row(NamedTuple):
    """One document of one user. `problem` names why it is set aside, and is None if it is fine.

    `split` is given if it is already decided, by the input or in another corpus, as that calls it.
    A document that comes from another corpus is `accepted`: it was measured when that was built.
    `doubts` name what is doubtful about a row that is fine; they are counted.
    Readers leave `origin` to whoever knows which input they read.
    """

    user: str | None
    text: str | None
    problem: str | None = None
    split: str | None = None
    accepted: bool = False
    doubts: tuple[str, ...] = ()
    origin: Origin | None = None


def numbered(rows: Iterable[Row], input: int) -> Iterator[Row]:
    """The rows of one input with their origins."""
    for number, row in enumerate(rows, 1):
        yield Row._make((*row[:-1], Origin(input, number)))  # half the time of `_replace`


class RowReader(Protocol):
    """Streams the rows of one input. It holds a bounded part of the input in memory."""

    def __call__(self, path: Path, settings: InputSettings) -> Iterator[Row]:
        """Yield the rows of `path` in their order; raise LeakscopeError if it cannot be read."""
        ...
