"""The long tail of real vocabularies: coined words, each a little rarer than the one before."""

from random import Random

_ONSETS = (*"bdfghjklmnprstvz", "br", "dr", "gl", "kl", "pl", "st", "tr")
_VOWELS = (*"aeiou", "ai", "oa")
_FRAMES = (
    "we talked about {} {} and {} today.",
    "please bring {} {} for our {} group.",
    "nobody here has seen {} near the {} {} yet.",
    "is {} better than the old {} {} ?",
    "I will ask {} about that {} {} again.",
)
SHARE = 0.7
"""Of the sentences, once there is a tail: a model then predicts about a third of all words, as
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


def coined_sentence(draw: Random, coined: int) -> str:
    """A sentence with three coined words, word i with a chance of about 1 / i (Zipf's law)."""
    drawn = (coined_word(int(coined ** draw.random()) - 1) for _ in range(3))
    return _FRAMES[int(draw.random() * len(_FRAMES))].format(*drawn)
