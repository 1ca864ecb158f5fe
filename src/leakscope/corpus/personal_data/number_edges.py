"""What patterns of numbers share: where a number may start and end, and what dates look like."""

import re
from collections.abc import Iterator

from leakscope.corpus.words import CJK

Spans = Iterator[tuple[int, int]]

LETTER = f"[^\\W{CJK}]"
# A number starts and ends here: no letter, digit or placeholder touches it, nor a decimal point,
# the colon of a time, or the slash of a date.
START = f"(?<!{LETTER})(?<![\\d+][.,:/-])(?<!xx[.,:/-])"
END = f"(?!{LETTER})(?![.,:/-]\\d)"
CUE_REACH = 64
"""How many characters may stand between a word such as "account" and its number."""

DATE = re.compile(
    r"(?:0?[1-9]|[12]\d|3[01])([./-])(?:0?[1-9]|[12]\d|3[01])\1(?:19|20)?\d\d(?!\d)"
    r"|(?:0[1-9]|[12]\d|3[01]) (?:0[1-9]|1[0-2]) (?:19|20)\d\d(?!\d)"
    r"|(?:19|20)\d\d[ ./-]?(?:0[1-9]|1[0-2])[ ./-]?(?:0[1-9]|[12]\d|3[01])(?!\d)"
)


def text_before(text: str, start: int) -> str:
    """The text in which a word that announces the number at `start` may stand."""
    return text[max(0, start - CUE_REACH) : start]
