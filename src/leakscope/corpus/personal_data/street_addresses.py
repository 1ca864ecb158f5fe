"""Postal addresses: a house number, a name and a street word, in either order.

Kept simple: the rest of the address (flat, town) counts only with a post code or a state at its
end, as a capitalized word after a comma might be anything. A house number and a name without a
street word count where a flat, or a town with its state and post code, follows.
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
_GAP = "[ \u00a0]{1,8}"
_BREAK = "(?:[ \\t]{0,4}\\r?\\n){1,2}[ \\t]{0,8}"  # mail is often sent with every second line empty
_NEXT = f"(?:,? {{1,3}}|,?{_BREAK})"
_DIRECTION = "(?:,? (?:[NS]\\.?[EW]?|[EW]|North|South|East|West)\\b\\.?)?"
_NUMBERED = f"(?i:apt|apartment|unit|suite|ste)\\.? ?#?[A-Za-z]?-?\\d{{1,5}}[A-Za-z]?{_END}"
_FLAT = (
    f"(?:{_NUMBERED}|(?:# ?\\d{{1,5}}[A-Za-z]?|\\d{{1,3}}(?:st|nd|rd|th) (?i:floor|fl)"
    "|(?i:apt|apartment|unit|suite|ste|flat|floor|fl|room|rm)\\.? ?#?"
    f"(?:[A-Za-z]?\\d{{1,4}}|[A-Za-z])){_END})"
)
_STATE = (
    "(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|"
    "T[NX]|UT|V[AT]|W[AIVY]|AB|BC|MB|N[BLS]|ON|PE|QC|SK|Alabama|Alaska|Arizona|Arkansas|California|"
    "Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|Indiana|Iowa|Kansas|"
    "Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|"
    "Montana|Nebraska|Nevada|New (?:Hampshire|Jersey|Mexico|York)|North (?:Carolina|Dakota)|Ohio|"
    "Oklahoma|Oregon|Pennsylvania|Rhode Island|South (?:Carolina|Dakota)|Tennessee|Texas|Utah|"
    "Vermont|Virginia|Washington|West Virginia|Wisconsin|Wyoming)"
)
_ZIP = f"{_STATE},?{_GAP}\\d{{5}}(?:-\\d{{4}})?(?!\\d|[.,]\\d){_END}"
_LETTERED = "(?:[A-Z]{1,2}\\d[A-Z\\d]? \\d[A-Z]{2}|[A-Z]\\d[A-Z] \\d[A-Z]\\d)"  # NW1 6XE, K1A 0B1
_CODE = f"(?:[A-Z]{{2}},? )?(?:\\d{{2,6}}(?:[ -]\\d{{2,4}})?|{_LETTERED})"
_TOWN_ZIP = f"{_NEXT}{_NAMES},?{_GAP}(?:{_ZIP}|{_LETTERED}{_END})"
_TOWN_STATE = f", {_NAMES}, {_STATE}{_END}"
_TOWN_CODE = f",? ?\\n?(?:{_NAMES},? )?{_CODE}{_END}"
_CODE_TOWN = f"(?:,? ?\\n?(?:[A-Z]{{1,2}}-)?\\d{{4,5}} {_NAMES})?"
# A room or mail stop has no word of its own, but ends its line or stands before the town.
_ROOM = f", [A-Z]{{2,3}} ?\\d{{2,5}}[A-Z]?(?=[ \\t]{{0,4}}\\r?\\n|{_TOWN_ZIP})"
_UNIT = f"(?:{_NEXT}{_FLAT}|{_ROOM}){{0,2}}"
_REST = f"{_DIRECTION}{_UNIT}(?:{_TOWN_ZIP}|{_TOWN_CODE}|{_TOWN_STATE})?"

_NUMBER_FIRST = re.compile(
    f"{_START}{_HOUSE},? {_NAMES} {_STREET}{_END}{_REST}"
    f"|{_START}{_HOUSE},? (?i:{_ROMANCE}) {_OF}{_NAMES}{_END}{_CODE_TOWN}"
)
_STREET_FIRST = re.compile(
    f"(?<!{_LETTER})(?<!['’.-])(?:"
    f"{_NAMES} (?!St\\b|Dr\\b){_STREET},? {_AFTER}"  # those two mean a station, or a doctor
    f"|(?:{_NAME} ){{0,2}}?[{_UPPER}](?:{_LETTER}|['’-]){{0,40}}? ?(?i:{_COMPOUND}) {_AFTER}"
    f"|(?i:{_ROMANCE}) {_OF}{_NAMES},? {_AFTER}"
    f"){_END}{_CODE_TOWN}"
)
# Without a street word the number is no year, and what follows must tell an address.
_WITHOUT_WORD = re.compile(
    f"{_START}(?!(?:19|20)\\d\\d ){_HOUSE} {_NAMES}"
    f"(?:{_NEXT}{_NUMBERED}(?:{_TOWN_ZIP})?|(?:{_NEXT}{_FLAT})?{_TOWN_ZIP})"
)
_TOWN_ALONE = re.compile(f"(?<!{_LETTER})(?:{_NAME} ){{0,2}}?{_NAME},{_GAP}{_ZIP}")
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
_BOX = re.compile(f"(?<!{_LETTER})(?:(?i:P\\. ?O\\. ?Box)|(?i:PO Box)) \\d{{1,6}}(?:{_TOWN_ZIP})?")


def street_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Street addresses and post boxes; North American towns with state and post code."""
    patterns = (_NUMBER_FIRST, _STREET_FIRST, _WITHOUT_WORD, _TOWN_ALONE, _BOX)
    found = [match.span() for pattern in patterns for match in pattern.finditer(text)]
    found += [match.span() for match in _SMALL.finditer(text) if match["name"] not in _NOT_A_NAME]
    yield from joined(found)


def joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans sorted; those that overlap, which are of one address, as one."""
    start = end = -1
    for low, high in sorted(found):
        if low < end:
            end = max(end, high)
            continue
        if end > start:
            yield start, end
        start, end = low, high
    if end > start:
        yield start, end
