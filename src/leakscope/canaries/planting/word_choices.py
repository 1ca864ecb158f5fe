"""Which words may stand in the random places of a canary: by frequency, and by phrase structure."""

import re
from collections.abc import Sequence

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError

PHRASE = ("noun", "adverb", "verb", "adjective", "noun")
"""A valid phrase, as in "nurses nervously trusted incompetent graduates" (Zanella-Béguelin et al.
2020, section 4.4)."""
_ENDINGS = {
    "adverb": r"[a-z]{3,}ly",
    "verb": r"[a-z]{2,}ed",
    "adjective": r"[a-z]{2,}(?:able|ible|al|ful|ic|ical|ish|ive|less|ous|ent|ant|ary|ory)",
    "noun": r"[a-z]{3,}(?:tion|ment|ness|ity|ance|ence|ship|er|or|ist|ers|ors|ists|tions|ments)",
}
"""Endings that tell English parts of speech in most cases: no dictionary is needed."""
_MIXED = (2, 0, 4, 1, 3)
"""Quintiles of a mixed canary, least frequent 4: neither rising nor falling."""


def frequent_words(lexicon: Lexicon, most: int) -> list[str]:
    """The `most` most frequent words that are made of letters, most frequent first."""
    chosen: list[str] = []
    order = sorted(range(len(lexicon)), key=lambda id: -int(lexicon.counts[id]))
    for id in order:
        word = lexicon.words[id]
        if len(chosen) == most or not lexicon.counts[id]:
            break
        if word[:1].isalpha() and words(word) == [word]:
            chosen.append(word)
    if len(chosen) < 2:
        raise LeakscopeError("The text has too few words to draw canaries from.")
    return chosen


def choices_of(
    vocabulary: Sequence[str], places: int, frequency: str, *, phrase: bool
) -> list[list[str]]:
    """For each of so many random words, the words that it is drawn from. `vocabulary` is in order
    of frequency.
    """
    if phrase and places != len(PHRASE):
        raise LeakscopeError("--phrase needs a template with {words:5}.")
    found = []
    for place in range(places):
        words_here = _of_frequency(vocabulary, place, places, frequency)
        if phrase:
            ending = re.compile(_ENDINGS[PHRASE[place]])
            words_here = [word for word in words_here if ending.fullmatch(word.lower())]
        if len(words_here) < 2:
            what = f" that looks like a {PHRASE[place]}" if phrase else ""
            raise LeakscopeError(
                f"The vocabulary has hardly a word{what} for place {place + 1} of canaries of "
                f"frequency {frequency}; give a larger --vocabulary, or leave out --phrase."
            )
        found.append(words_here)
    return found


def _of_frequency(vocabulary: Sequence[str], place: int, places: int, frequency: str) -> list[str]:
    """The quintile of the vocabulary that a place is drawn from, or all of it."""
    if frequency == "any":
        return list(vocabulary)
    rising = place * 4 // max(places - 1, 1)  # 0 to 4 from the first place to the last
    quintile = {
        "all-low": 4,
        "low-to-high": 4 - rising,
        "high-to-low": rising,
        "mixed": _MIXED[rising],
    }[frequency]
    size = len(vocabulary)
    return list(vocabulary[quintile * size // 5 : (quintile + 1) * size // 5])
