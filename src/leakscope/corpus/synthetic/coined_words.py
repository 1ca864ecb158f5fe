"""The long tail of real vocabularies: coined words, each a little rarer than the one before."""

from random import Random

_ONSETS = (*"bdfghjklmnprstvz", "br", "dr", "gl", "kl", "pl", "st", "tr")
_VOWELS = (*"aeiou", "ai", "oa")
_LINKS = (
    *("the", "of", "to", "a", "in", "with", "and", "for", "on"),
    *("at", "by", "from", "about", "near", "like", "over", "under", "without"),
)
_LINK_SHARE = 0.4
_SHORTEST, _LONGEST = 5, 11
SHARE = 0.7
"""Of the sentences, once there is a tail: a model then predicts about a quarter of all words, as
models of real text do."""


def coined_word(index: int) -> str:
    """The word with this number: two syllables or more, a different one for every number."""
    syllables = []
    index += len(_ONSETS) * len(_VOWELS)  # no word of one syllable, which English might have
    while index:
        index, place = divmod(index, len(_ONSETS) * len(_VOWELS))
        onset, vowel = divmod(place, len(_VOWELS))
        syllables.append(_ONSETS[onset] + _VOWELS[vowel])
    return "".join(syllables[::-1]) + "x"


def _zipf(draw: Random, size: int) -> int:
    """A number below `size`, i with a chance of about 1 / (i + 1) (Zipf's law)."""
    return int(size ** draw.random()) - 1 if size > 1 else 0


def coined_sentence(draw: Random, coined: int) -> str:
    """Coined words and short common ones, in no order that could be learned."""
    length = _SHORTEST + int(draw.random() * (_LONGEST - _SHORTEST + 1))
    drawn = (
        _LINKS[_zipf(draw, len(_LINKS))]
        if draw.random() < _LINK_SHARE
        else coined_word(_zipf(draw, coined))
        for _ in range(length)
    )
    return " ".join(drawn) + "."
