"""Texts that are too long to be copied: they stay in mapped files wherever they can, and are worked
on one at a time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from leakscope.corpus.readers.byte_lines import MAX_RECORD

GIANT = MAX_RECORD
"""A text, or a line, of more bytes is one of these."""
LONGEST = (1 << 31) - (1 << 20)
"""Bytes of a text: a page of Parquet has less than 2 GiB."""
_BYTES_OF_A_CHARACTER = 4
_TURN = threading.Lock()


def is_giant(size: int) -> bool:
    """Whether a text, or a line, of `size` bytes is too long to be copied."""
    return size > GIANT


def longest_line(max_characters: int) -> int:
    """Bytes of a line that may hold a document of so many characters; longer ones are set aside."""
    return max(MAX_RECORD, _BYTES_OF_A_CHARACTER * max_characters)


@contextmanager
def giants_in_turn(size: int) -> Iterator[None]:
    """Wait, if this text is a giant, until no other thread works on one."""
    if not is_giant(size):
        yield
        return
    with _TURN:
        yield
