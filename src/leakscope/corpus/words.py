"""The one definition of a word (design, section 2)."""

import re
import string
import sys
import unicodedata
from functools import cache

# Written without spaces, so each character counts as a word: kana, bopomofo and Han.
# Hangul is written with spaces and stays whole.
CJK = "\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"  # noqa: E501


@cache
def combining_marks() -> str:
    """Combining marks as a regex class body: they belong to the letter before them.

    Python's `\\w` leaves them out, which would cut "e" + acute, or Devanagari, into pieces.
    """
    points = (p for p in range(0x300, sys.maxunicode + 1) if p < 0x20000 or 0xE0100 <= p <= 0xE01EF)
    ranges: list[list[int]] = []
    for point in points:
        if unicodedata.category(chr(point))[0] != "M":
            continue
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges)


_RUNS = "|".join(f"{re.escape(mark)}+" for mark in string.punctuation if mark != "_")


@cache
def _ascii_pattern() -> re.Pattern[str]:
    """What `_pattern` does to ASCII text, three times as fast."""
    return re.compile(f"\\w+(?:'\\w+)*|{_RUNS}|\\S")


@cache
def _pattern() -> re.Pattern[str]:
    letter, marks = f"[^\\W{CJK}]", f"[{combining_marks()}\u200d]"
    letters = f"{letter}+(?:{marks}+{letter}*)*"
    return re.compile(f"{letters}(?:['’]{letters})*|{_RUNS}|\\S[{combining_marks()}]*")


def _pattern_for(text: str) -> re.Pattern[str]:
    return _ascii_pattern() if text.isascii() else _pattern()


def words(text: str, *, lowercase: bool = False) -> list[str]:
    """Split `text` into words: letters and digits with inner apostrophes whole, every CJK
    character one word, a run of the same ASCII punctuation mark one word, any other character
    one word. White space separates and is dropped.
    """
    found = _pattern_for(text).findall(text)
    return [word.lower() for word in found] if lowercase else found


def spans(text: str) -> list[tuple[int, int]]:
    """The (start, end) character offsets in `text` of each word that `words` gives."""
    return [match.span() for match in _pattern_for(text).finditer(text)]
