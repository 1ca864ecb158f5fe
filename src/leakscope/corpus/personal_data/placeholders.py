"""Words that stand in for what was taken out of a text, such as `xxEMAILxx`."""

import string
from collections.abc import Iterable

# A placeholder beside one of these stays a word of its own; "'" and "_" would be drawn into it.
_APART = frozenset(string.whitespace + string.punctuation) - set("'_")


def placeholder(kind: str) -> str:
    """The single word that stands for something of this kind."""
    return f"xx{kind.upper()}xx"


def put(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each span (start, end) replaced by its word; spans are sorted and apart.

    A space is added where the new word would otherwise grow together with its neighbour.
    """
    parts: list[str] = []
    done, last = 0, ""
    for start, end, word in changes:
        if start > done:
            parts.append(text[done:start])
            last = text[start - 1]
        if last and last not in _APART:
            parts.append(" ")
        parts.append(word)
        done, last = end, word
        if end < len(text) and text[end] not in _APART:
            parts.append(" ")
            last = " "
    parts.append(text[done:])
    return "".join(parts)
