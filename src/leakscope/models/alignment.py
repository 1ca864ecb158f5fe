"""Which tokens of a sub-word model belong to which words.

A word *needs* every token that covers at least one of its characters. A token may cover parts of
several words: each of them needs it, but its log-probability is *counted* once, for the first. A
token that covers no word (white space, or nothing) has to be predicted to get to the next word, so
that word needs it and counts it; after the last word, no word does. Hence the words'
log-probabilities add up to those of all tokens before trailing white space.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of

Span = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """Tokens against w words; t tokens. Token i is needed by words first[i] to stop[i], and
    counted for word first[i]; first[i] == stop[i] says that no word needs it.
    """

    first: LongArray
    """[t] the first word that needs each token."""
    stop: LongArray
    """[t] behind the last one."""
    words: int
    """w."""

    def counted(self) -> BoolArray:
        """[t] whether a word counts the token's log-probability."""
        return self.first < self.stop

    def needs(self) -> tuple[LongArray, LongArray]:
        """(tokens, words): every pair of a token and a word that needs it."""
        sizes = self.stop - self.first
        tokens = np.repeat(np.arange(len(sizes)), sizes)
        return tokens, places_of(self.first, sizes)

    def any_of(self, marked: BoolArray) -> BoolArray:
        """[w] whether a word needs a token that is `marked` [t]."""
        tokens, words = self.needs()
        found = np.zeros(self.words, np.bool_)
        found[words[marked[tokens]]] = True
        return found

    def worst_of(self, rank: IntArray) -> IntArray:
        """[w] the largest `rank` [t] of the tokens that each word needs; 0 if it needs none."""
        tokens, words = self.needs()
        found = np.zeros(self.words, np.int32)
        np.maximum.at(found, words, rank[tokens])
        return found

    def sums_of(self, values: FloatArray) -> npt.NDArray[np.float64]:
        """[w] the sum of `values` [t] over the tokens that each word counts."""
        mine, found = self.counted(), np.zeros(self.words, np.float64)
        np.add.at(found, self.first[mine], values[mine])
        return found


def align(words: Sequence[Span], tokens: Sequence[Span], special: BoolArray) -> Alignment:
    """The alignment of one document from the character spans of its words (rising, disjoint) and
    the offsets of its tokens. Tokens marked `special` [t] belong to no word, even where the text
    spells them out.
    """
    starts, ends = _columns(words)
    begins, stops = _columns(tokens)
    first = np.searchsorted(ends, begins, side="right")  # the first word that ends behind it begins
    covered = np.searchsorted(starts, stops, side="left")  # words before this begin before it ends
    stop = np.minimum(np.maximum(covered, first + 1), len(words))
    return Alignment(first, np.where(special, first, np.maximum(stop, first)), len(words))


def outside(tokens: Sequence[Span], inside: Span | None) -> BoolArray:
    """[t] tokens that cover nothing of the characters `inside`; None: all is inside."""
    begins, stops = _columns(tokens)
    if inside is None:
        return np.zeros(len(begins), np.bool_)
    return (stops <= inside[0]) | (begins >= inside[1])


def concatenate(parts: Sequence[Alignment]) -> Alignment:
    """One alignment of several documents, their tokens and words numbered through."""
    shifts = offsets_of(np.array([part.words for part in parts], np.int64))
    none = np.zeros(0, np.int64)
    moved = list(zip(parts, shifts.tolist(), strict=False))
    return Alignment(
        np.concatenate([none, *(part.first + shift for part, shift in moved)]),
        np.concatenate([none, *(part.stop + shift for part, shift in moved)]),
        int(shifts[-1]),
    )


def _columns(spans: Sequence[Span]) -> tuple[LongArray, LongArray]:
    table = np.array(spans, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
