"""What every reader yields: one row a document, or the reason why it cannot be used."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

NULL_USER = "null user"
EMPTY_TEXT = "empty text"
INVALID_UTF8 = "invalid UTF-8"
MALFORMED = "malformed record"
DELETED_AUTHOR = "deleted author"
REMOVED_TEXT = "removed text"
TOO_LONG = "too long"
TOO_COMPLEX = "too complex"
LINK_OUTSIDE = "link to outside"


class Row(NamedTuple):
    """One document of one user. `problem` names why it is set aside, and is None if it is fine.

    `split` is given where it is settled already, as for the documents of another corpus.
    """

    user: str | None
    text: str | None
    problem: str | None = None
    split: str | None = None


@dataclass(frozen=True)
class Columns:
    """Names of the columns (or JSON keys) that hold the user and the text."""

    user: str = "user"
    text: str = "text"


class RowReader(Protocol):
    """Streams the rows of one input. It holds a bounded part of the input in memory."""

    def __call__(self, path: Path, columns: Columns) -> Iterator[Row]:
        """Yield the rows of `path` in their order; raise LeakscopeError if it cannot be read."""
        ...
