"""People's names, and when two of them are one: "Doe, Ann (Lab)" is "ann doe"."""

import re
import unicodedata

from leakscope.corpus.letters.hidden_addresses import unhidden

RELAYED = re.compile(r"^['\"]?(?P<name>.*?\S)['\"]?\s+via\s+\S.*$", re.IGNORECASE | re.DOTALL)
"""How list software that sends under an address of its own names the sender."""
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_WORD = re.compile(r"[^\W\d_]+")
_TITLES = frozenset({"dr", "prof", "professor", "phd", "md", "msc", "mr", "mrs", "ms", "jr", "sr"})
_LEAST_IDEOGRAPH = "\u2e80"


def person_name(text: str) -> str | None:
    """A name as it is compared, or None if there is none: an address is no name.

    Case, accents, titles, single initials, brackets, what follows a dash, and the order of
    "Doe, Ann" make no difference.
    """
    relayed = RELAYED.match(text)
    called = relayed["name"] if relayed else text
    if "@" in unhidden(called) or "|" in text:
        return None
    plain = _BRACKETS.sub(" ", called).partition(" - ")[0]
    family, _, given = plain.partition(",")
    words = _words(given) + _words(family)
    long = [word for word in words if len(word) > 1]
    return " ".join(long if len(long) > 1 else words) or None


def is_full_name(name: str) -> bool:
    """Tell whether a name is likely to be one person's: it has two words, not only
    initials, or is written in characters that need no spaces.
    """
    if " " in name:
        return any(len(word) > 1 for word in name.split())
    return len(name) > 1 and name >= _LEAST_IDEOGRAPH


def unrelated(names: set[str]) -> int:
    """How many people these full names stand for at least: those that share a word, such as before
    and after a marriage, are taken for one person's.
    """
    people: list[set[str]] = []
    for name in sorted(names):
        words = set(name.split())
        others = [person for person in people if not person & words]
        people = [*others, words.union(*(person for person in people if person & words))]
    return len(people)


def _words(text: str) -> list[str]:
    spelled = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(char for char in spelled if not unicodedata.combining(char))
    composed = unicodedata.normalize("NFC", bare).replace("’", "").replace("'", "")
    return [word for word in _WORD.findall(composed) if word not in _TITLES]
