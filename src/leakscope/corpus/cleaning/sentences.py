"""Sentences as pieces of a text, and which of them occur more than once."""

import hashlib
import re
from collections.abc import Iterable

import numpy as np

from leakscope.corpus.words import words

# A sentence ends with its marks and closing quotes before white space, with the marks of CJK
# text, or with the line. Abbreviations end one too: no dictionary of them is kept.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+\s+|(?<![。！？])[。！？]++[\"'”’」』)\]]*+\s*|\n\s*"
)


def pieces(text: str) -> list[str]:
    """The sentences of `text`, each with the white space after it: joined, they are the text."""
    found, start = [], 0
    for match in _END.finditer(text):
        found.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        found.append(text[start:])
    return found


def sentence_key(piece: str, min_words: int) -> bytes | None:
    """A digest of the sentence's lower-cased words; None if it has fewer than `min_words`."""
    said = words(piece, lowercase=True)
    if len(said) < min_words:
        return None
    return hashlib.blake2b("\n".join(said).encode(), digest_size=16).digest()


class Repeated:
    """Which sentences occur more than once, found in one pass with eight bytes per sentence.

    A hash collision may add a sentence that occurs only once. That does no harm: the purpose is
    only that the second pass need not remember all sentences.
    """

    def __init__(self) -> None:
        self._chunks: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
        self._waiting: list[int] = []
        self._repeated: frozenset[int] = frozenset()

    def add(self, keys: Iterable[bytes]) -> None:
        """Take the sentences of one document."""
        self._waiting.extend(int.from_bytes(key[:8], "little") for key in keys)
        if len(self._waiting) >= 1 << 16:
            self._flush()

    def finish(self) -> list[int]:
        """All sentences are in: the first eight bytes of the digests of those that repeat."""
        self._flush()
        every = np.concatenate(self._chunks) if self._chunks else np.empty(0, np.uint64)
        self._chunks = []
        values, counts = np.unique(every, return_counts=True)
        found: list[int] = values[counts > 1].tolist()
        self.recall(found)
        return found

    def recall(self, found: Iterable[int]) -> None:
        """Know what `finish` has found."""
        self._repeated = frozenset(found)

    def __contains__(self, key: bytes) -> bool:
        return int.from_bytes(key[:8], "little") in self._repeated

    def _flush(self) -> None:
        self._chunks.append(np.array(self._waiting, np.uint64))
        self._waiting = []
