"""Postal addresses: a house number, a name and a street word, in either order.

Kept simple: the rest of the address (flat, town) counts only with a post code at its end, as a
capitalized word after a comma might be anything.
"""

import re
from collections.abc import Iterator

from leakscope.corpus.words import CJK

_LETTER = f"[^\\W{CJK}]"
_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽȘȚ"
_NAME = f"[{_UPPER}](?:['’.-]?{_LETTER}){{0,30}}"
_NAMES = f"(?:{_NAME}\\.? ){{0,3}}?{_NAME}"
_STREET = (
    "(?:Street|Road|Avenue|Lane|Drive|Boulevard|Court|Way|Place|Square|Terrace|Crescent|Close|"
    "Highway|Parkway|Circle|Trail|Row|Alley|Gardens|Grove|Hill|Mews|Quay|Walk|"
    "(?:St|Rd|Ave|Av|Ln|Dr|Blvd|Ct|Pl|Sq|Hwy|Pkwy|Cir|Ter)\\b\\.?)"
)
_ROMANCE = (
    "(?:rue|avenue|boulevard|place|chemin|quai|via|viale|piazza|corso|calle|avenida|paseo|plaza|"
    "rua|praça|ulica|ul\\.)"
)
_OF = "(?:(?:de la|de los|de l|des?|du|da|do|del|della|d)[ '’])?"
_COMPOUND = (
    "(?:straße|strasse|str\\.|gasse|weg|platz|allee|ufer|damm|straat|laan|plein|gracht|gatan|"
    "gata|vägen|gade|vej|veien|gaten)"
)
_HOUSE = "\\d{1,5}[A-Za-z]?(?:[-–/]\\d{1,4}[A-Za-z]?)?"
_AFTER = "\\d{1,3}[A-Za-z]?(?:[-–/]\\d{1,3}[A-Za-z]?)?(?![.,:]?\\d)"  # four digits are a year

_START, _END = f"(?<!{_LETTER})(?<![\\d][.,:/-])", f"(?!{_LETTER})"
_UNIT = (
    "(?:,? (?i:apt|apartment|unit|suite|ste|flat|floor|fl|room|rm|#)\\.? ?#?[A-Za-z]?\\d{0,4}\\b)?"
)
_CODE = (
    "(?:[A-Z]{2},? )?(?:\\d{2,6}(?:[ -]\\d{2,4})?|[A-Z]{1,2}\\d[A-Z\\d]? \\d[A-Z]{2}|"
    "[A-Z]\\d[A-Z] \\d[A-Z]\\d)"
)
_TOWN_CODE = f"(?:,? ?\\n?(?:{_NAMES},? )?{_CODE}{_END})?"
_CODE_TOWN = f"(?:,? ?\\n?(?:[A-Z]{{1,2}}-)?\\d{{4,5}} {_NAMES})?"
_REST = f"{_UNIT}(?:{_TOWN_CODE})"

_NUMBER_FIRST = re.compile(
    f"{_START}{_HOUSE},? {_NAMES} {_STREET}{_END}{_REST}"
    f"|{_START}{_HOUSE},? (?i:{_ROMANCE}) {_OF}{_NAMES}{_END}{_CODE_TOWN}"
)
_STREET_FIRST = re.compile(
    f"(?<!{_LETTER})(?<!['’.-])(?:"
    f"{_NAMES} {_STREET},? {_AFTER}"
    f"|(?:{_NAME} ){{0,2}}?[{_UPPER}](?:{_LETTER}|['’-]){{0,40}}? ?(?i:{_COMPOUND}) {_AFTER}"
    f"|(?i:{_ROMANCE}) {_OF}{_NAMES},? {_AFTER}"
    f"){_END}{_CODE_TOWN}"
)
# In text without capitals only the plainest form: "12 birch lane, oakham 34 56".
_SMALL = re.compile(
    f"{_START}{_HOUSE} (?!xx)(?P<name>[^\\W\\d_]{{3,20}}) "
    f"(?:street|road|avenue|lane|boulevard|rd|ave|blvd){_END}"
    f"(?:, [^\\W\\d_]{{3,20}} \\d{{2,6}}(?: \\d{{2,4}})?{_END})?"
)
_NO_NAMES = (
    "the this that these those same other next last new old long main and for from with into near "
    "down along across off via per more different such some any each busy minute minutes hour "
    "hours day days meter meters metres mile miles kilometers people cars houses times trips "
    "percent years blocks"
)
_NOT_A_NAME = frozenset(_NO_NAMES.split())
_BOX = re.compile(f"(?<!{_LETTER})P\\. ?O\\. ?Box \\d{{1,6}}|(?<!{_LETTER})PO Box \\d{{1,6}}", re.I)


def street_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Street addresses and post boxes."""
    for pattern in (_NUMBER_FIRST, _STREET_FIRST, _BOX):
        yield from (match.span() for match in pattern.finditer(text))
    for match in _SMALL.finditer(text):
        if match["name"] not in _NOT_A_NAME:
            yield match.span()
