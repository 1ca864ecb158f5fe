"""What the definition of a word says of every character, as tables for compiled code.

The tables are asked of the definition's own patterns and of Python, once a process, so they cannot
say anything else.
"""

import re
import string
import sys
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leakscope.corpus.words import CJK, combining_marks

LETTER, MARK, JOINER, SPACE, RUN = 1, 2, 4, 8, 16
"""Bits of a class: begins and continues a word; belongs to what stands before it; continues a word
of letters; separates words; ASCII punctuation, of which a run of the same mark is one word."""
ODD = -1
"""In the table of lower case: Python has to be asked, for the word as a whole."""
_BLOCK = 256
_FINAL_SIGMA = "Σ"  # its lower case depends on the letters around it


class CharacterTables(NamedTuple):
    """By code point."""

    classes: npt.NDArray[np.uint8]
    lower: npt.NDArray[np.int32]
    """The code point of the lower case, or `ODD`."""


@cache
def character_tables() -> CharacterTables:
    """The tables of this Python, which knows one version of Unicode."""
    size = sys.maxunicode + 1
    places = np.concatenate([np.arange(0xD800), np.arange(0xE000, size)])  # no surrogates
    every = places.astype("<u4").tobytes().decode("utf-32-le")
    classes = np.zeros(size, np.uint8)
    for bit, pattern in (
        (LETTER, f"[^\\W{CJK}]+"),
        (MARK, f"[{combining_marks()}]+"),
        (JOINER, "\u200d"),
        (SPACE, r"\s+"),
        (RUN, f"[{re.escape(string.punctuation.replace('_', ''))}]+"),
    ):
        for found in re.finditer(pattern, every):
            classes[places[found.start() : found.end()]] |= bit
    lower = np.arange(size, dtype=np.int32)
    for start in range(0, len(every), _BLOCK):
        block = every[start : start + _BLOCK]
        if block.lower() == block:
            continue
        for char in block:
            changed = char.lower()
            lower[ord(char)] = ord(changed) if len(changed) == 1 else ODD
    lower[ord(_FINAL_SIGMA)] = ODD
    return CharacterTables(classes, lower)
