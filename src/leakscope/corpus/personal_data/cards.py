"""Payment cards."""

import re

from leakscope.corpus.personal_data.number_edges import LETTER, Spans

# Groups of digits with single separators; possessive, so a run is read once.
_CHAIN = re.compile(f"(?<!{LETTER})\\d++(?:[ \u00a0-]\\d++)*+(?!{LETTER})")
_GROUP = re.compile(r"\d+")
_LEAST, _MOST = 13, 19


def cards(text: str) -> Spans:
    """Payment cards: 13 to 19 digits in one piece or in groups of three and more, Luhn-checked."""
    for chain in _CHAIN.finditer(text):
        if len(chain[0]) < _LEAST:
            continue
        groups = list(_GROUP.finditer(text, *chain.span()))
        first = 0
        while first < len(groups):
            last = _card_end(groups, first)
            if last is not None:
                yield groups[first].start(), groups[last].end()
            first = first + 1 if last is None else last + 1


def _card_end(groups: list[re.Match[str]], first: int) -> int | None:
    """The last group of the longest card number that begins with group `first`."""
    from stdnum import luhn

    number, found = "", None
    for last in range(first, min(first + 6, len(groups))):
        number += groups[last][0][: _MOST + 1]
        if len(number) > _MOST or number[0] == "0":
            break
        # `int` reads the digits of every script, the library only ASCII ones.
        if len(number) >= _LEAST and luhn.is_valid(str(int(number))):
            found = last
        if len(groups[last][0]) < 3:  # only the last group may be so short
            break
    return found
