"""Texts in windows: one for an ordinary text, many for one that is too long to be looked at as a
whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leakscope.corpus.words import spans

Text = str | memoryview
"""A text, or the UTF-8 bytes of a long one."""
LONG = 1 << 22
"""Bytes of a text from which on it is looked at in windows."""
WINDOW = 1 << 20
"""Bytes of a window, or more where words are that long."""
MARGIN = 1 << 14
"""Bytes before and after a window that are looked at, too: what is found there is no longer."""
_UNSURE = 8
"""Words at the end of a window that may be others if the text goes on."""


@dataclass(frozen=True)
class TextWindow:
    """A stretch of a text, and what stands around it."""

    text: str
    """All of it."""
    start: int
    stop: int
    """The stretch is text[start:stop]; it begins with a word, or where the text does."""
    first_word: int
    """How many words of the text are before the stretch."""
    edges: list[tuple[int, int]]
    """Where each word from the stretch's first one on begins and ends in `text`."""
    words: int
    """How many of them begin in the stretch."""


def windows(text: Text, *, size: int = WINDOW, margin: int = MARGIN) -> Iterator[TextWindow]:
    """The windows of a text; together, their stretches are the text."""
    if isinstance(text, str):
        edges = spans(text)
        yield TextWindow(text, 0, len(text), 0, edges, len(edges))
        return
    at = word = 0
    while at < len(text):
        found, length = _window(text, at, word, size, margin)
        yield found
        at += length
        word += found.words


def _window(text: memoryview, at: int, word: int, size: int, margin: int) -> tuple[TextWindow, int]:
    """The window from the byte `at` on, where a word begins, and the bytes of its stretch."""
    before = _decoded(text, _edge(text, max(0, at - margin)), at)
    while True:
        end = _edge(text, min(len(text), at + size))
        said = _decoded(text, at, end)
        inside = spans(said)
        if end == len(text) or len(inside) > _UNSURE:
            break
        size *= 2
    cut = len(said) if end == len(text) else inside[-_UNSURE][0]
    words = len(inside) if end == len(text) else len(inside) - _UNSURE
    said += _decoded(text, end, _edge(text, min(len(text), end + margin)))
    start = len(before)
    edges = [(start + first, start + last) for first, last in spans(said)]
    stretch = len(said[:cut].encode())
    return TextWindow(before + said, start, start + cut, word, edges, words), stretch


def _edge(text: memoryview, at: int) -> int:
    """The first place from `at` on that is not within a character."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


def _decoded(text: memoryview, start: int, stop: int) -> str:
    return bytes(text[start:stop]).decode()
