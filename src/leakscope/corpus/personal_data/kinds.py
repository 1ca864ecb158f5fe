"""Find what identifies or reaches a person, by patterns of our own, and take it out.

Patterns find forms, not meanings: a name, or a secret told in plain words, is not found. Every
pattern looks at a bounded stretch of text from each place, so time grows with the text only.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from leakscope.corpus.personal_data.numbers import accounts, cards, ip_addresses, phones
from leakscope.corpus.personal_data.placeholders import placeholder, put
from leakscope.corpus.personal_data.places import addresses
from leakscope.corpus.words import CJK
from leakscope.records.errors import LeakscopeError

Spans = Iterator[tuple[int, int]]

_LETTER = f"[^\\W{CJK}]"
_EMAIL = re.compile(
    f"(?<!{_LETTER})(?<![.%+-])(?:{_LETTER}|[.%+-]){{1,64}}@"
    f"(?:{_LETTER}(?:{_LETTER}|-){{0,62}}\\.){{1,8}}[^\\W\\d_{CJK}]{{2,24}}(?!{_LETTER})"
)
_URL = re.compile(
    f'(?<!{_LETTER})(?:[a-z][a-z0-9+.-]{{1,15}}://|www\\.)[^\\s<>"。，、！？；：（）「」『』【】《》]+',
    re.IGNORECASE,
)
_URL_MARK = re.compile(r"://|www\.", re.IGNORECASE)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, order=True)
class Finding:
    """The characters `start` to `end` of a text are of this kind."""

    start: int
    end: int
    kind: str


Finder = Callable[[str], Iterable[Finding]]


def _emails(text: str) -> Spans:
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))


def _urls(text: str) -> Spans:
    if _URL_MARK.search(text):
        for match in _URL.finditer(text):
            address = match[0][: _url_end(match[0])]
            if _URL_MARK.search(address) and not address.endswith("://"):
                yield match.start(), match.start() + len(address)


def _url_end(address: str) -> int:
    """Where the URL ends and the punctuation of the sentence begins."""
    end, unopened = len(address), address.count(")") - address.count("(")
    while end and (address[end - 1] in ".,;:!?'’”" or (address[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= address[end] == ")"
    return end


def _with_digits(find: Callable[[str], Spans]) -> Callable[[str], Spans]:
    """`find`, asked only where there is a digit at all: most sentences have none."""

    def ask(text: str) -> Spans:
        return find(text) if _DIGIT.search(text) else iter(())

    return ask


# The order settles ties: what is checked most strictly comes first.
_FINDERS: dict[str, Callable[[str], Spans]] = {
    "url": _urls,
    "email": _emails,
    "card": _with_digits(cards),
    "account": _with_digits(accounts),
    "ip": ip_addresses,
    "address": _with_digits(addresses),
    "phone": _with_digits(phones),
}

KINDS = ("email", "phone", "card", "account", "address", "url", "ip")


def check_kinds(kinds: Iterable[str]) -> None:
    """Raise unless every one of `kinds` is known."""
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise LeakscopeError(
            f"{', '.join(unknown)} cannot be scrubbed; the kinds are {', '.join(KINDS)}."
        )


def find_pii(text: str, kinds: Iterable[str] = KINDS) -> list[Finding]:
    """All findings of `kinds` in `text`, sorted and apart: where two overlap, the longer stays.

    Only what is asked for is looked for: without "card", a card number may count as a phone's.
    """
    kinds = set(kinds)
    check_kinds(kinds)
    return apart(
        Finding(start, end, kind)
        for kind, find in _FINDERS.items()
        if kind in kinds
        for start, end in find(text)
    )


def apart(findings: Iterable[Finding]) -> list[Finding]:
    """Of overlapping findings the longest, of equally long ones the first given; sorted."""
    longest_first = sorted(findings, key=lambda finding: finding.start - finding.end)
    size = max((finding.end for finding in longest_first), default=0)
    taken = bytearray(size)
    kept = []
    for finding in longest_first:
        # What was taken is at least as long, so it cannot lie between the two ends.
        if finding.end > finding.start and not (taken[finding.start] or taken[finding.end - 1]):
            taken[finding.start : finding.end] = b"\1" * (finding.end - finding.start)
            kept.append(finding)
    return sorted(kept)


def scrub(
    text: str, kinds: Iterable[str] = KINDS, also: Finder | None = None
) -> tuple[str, dict[str, int]]:
    """`text` with a placeholder word for each finding, and how many there were of each kind.

    `also` gives further findings. Scrubbing the result again changes nothing: what the removal
    of one finding uncovers is scrubbed too.
    """
    kinds = tuple(kinds)
    counts: Counter[str] = Counter()

    def look() -> list[Finding]:
        return find_pii(text, kinds)

    # Each round takes away digits, "@" or "://", so it ends; `also` is asked once, as it might
    # take a placeholder for a name.
    found = apart([*look(), *also(text)]) if also is not None else look()
    while found:
        counts.update(finding.kind for finding in found)
        text = put(text, ((f.start, f.end, placeholder(f.kind)) for f in found))
        found = look()
    return text, dict(sorted(counts.items()))
