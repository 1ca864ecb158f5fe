"""The kinds of personal data: find what identifies or reaches a person, and take it out.

Patterns find forms, not meanings: a name, or a secret told in plain words, is not found. Every
pattern looks at a bounded stretch of text from each place, so time grows linearly with the text.

To add a kind, write its finder in a file of its own; name it in `Kind` and in `_finders` here.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, get_args

from leakscope.corpus.personal_data.placeholders import placeholder, put
from leakscope.records.errors import LeakscopeError

Kind = Literal["email", "phone", "card", "account", "address", "url", "ip"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_Find = Callable[[str], Iterator[tuple[int, int]]]
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, order=True)
class Finding:
    """The characters `start` to `end` of a text are of this kind."""

    start: int
    end: int
    kind: str


Finder = Callable[[str], Iterable[Finding]]


@cache
def _finders(phone_region: str | None) -> dict[Kind, _Find]:
    """The finder of each kind. The order settles ties: what is checked most strictly comes first.

    They are imported when text is first looked at: their patterns take a tenth of a second.
    """
    from leakscope.corpus.personal_data.accounts import accounts
    from leakscope.corpus.personal_data.cards import cards
    from leakscope.corpus.personal_data.ip_addresses import ip_addresses
    from leakscope.corpus.personal_data.online_addresses import emails, urls
    from leakscope.corpus.personal_data.phones import phones
    from leakscope.corpus.personal_data.street_addresses import street_addresses

    return {
        "url": urls,
        "email": emails,
        "card": _with_digits(cards),
        "account": _with_digits(accounts),
        "ip": ip_addresses,
        "address": _with_digits(street_addresses),
        "phone": _with_digits(partial(phones, region=phone_region)),
    }


def _with_digits(find: _Find) -> _Find:
    """`find`, asked only where there is a digit at all: most sentences have none."""

    def ask(text: str) -> Iterator[tuple[int, int]]:
        return find(text) if _DIGIT.search(text) else iter(())

    return ask


def check_kinds(kinds: Iterable[str]) -> None:
    """Raise unless every one of `kinds` is known."""
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise LeakscopeError(
            f"{', '.join(unknown)} cannot be scrubbed; the kinds are {', '.join(KINDS)}."
        )


def find_pii(
    text: str, kinds: Iterable[str] = KINDS, phone_region: str | None = None
) -> list[Finding]:
    """All findings of `kinds` in `text`, sorted and apart: where two overlap, the longer stays.

    Only these kinds are looked for: without "card", a card number may be taken for a phone number.
    With a `phone_region` such as "SG", more of that country's phone numbers are found.
    """
    kinds = set(kinds)
    check_kinds(kinds)
    return apart(
        Finding(start, end, kind)
        for kind, find in _finders(phone_region).items()
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
    text: str,
    kinds: Iterable[str] = KINDS,
    also: Finder | None = None,
    phone_region: str | None = None,
) -> tuple[str, dict[str, int]]:
    """`text` with a placeholder word for each finding, and how many there were of each kind.

    `also` gives further findings. Scrubbing the result again changes nothing: what the removal
    of one finding uncovers is scrubbed too.
    """
    kinds = tuple(kinds)
    counts: Counter[str] = Counter()

    def look() -> list[Finding]:
        return find_pii(text, kinds, phone_region)

    # Each round takes away digits, "@" or "://", so it ends; `also` is asked once, as it might
    # take a placeholder for a name.
    found = apart([*look(), *also(text)]) if also is not None else look()
    while found:
        counts.update(finding.kind for finding in found)
        text = put(text, ((f.start, f.end, placeholder(f.kind)) for f in found))
        found = look()
    return text, dict(sorted(counts.items()))
