"""Invented people, and the places, positions and banks of their secrets."""

import unicodedata
from dataclasses import dataclass

from leakscope.corpus.synthetic.seeded_draws import digits, scramble


def _names(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


GIVEN = _names(
    "Zoë Łukasz José Ana Björn Siobhán Thảo Renée Mikołaj Inés Jürgen Chloë Tomáš Aïcha Søren "
    "Marta Owen Priya Nadia Felix Clara Hugo Leila Viktor Edith Ravi Greta Omar Paula Denis "
    "Élodie Iris Karim Lena Matteo Nora Oskar Ruth Stefan Vera"
)
SURNAMES = _names(
    "Lindqvist Orzeł Vidal Cruz Nguyễn O'Neill Müller Kovač Sørensen Dvořák Petit Okafor Haddad "
    "Ferreira Novák Ionescu Bauer Castaño Duval Eriksen Fontaine Grant Horváth Ibáñez Janssen "
    "Keller Larsen Moreau Nakata Olsen Pereira Quiroga Rossi Szabó Tanner Ulrich Varga Weiss "
    "Yıldız Zeman"
)
# (written, romanized): the second is for the user key, which is ASCII.
EAST_FAMILIES = (
    ("田中", "tanaka"),
    ("鈴木", "suzuki"),
    ("高橋", "takahashi"),
    ("山本", "yamamoto"),
    ("小林", "kobayashi"),
    ("渡辺", "watanabe"),
    ("欧阳", "ouyang"),
    ("司马", "sima"),
)
EAST_GIVEN = (
    ("美咲", "misaki"),
    ("健太", "kenta"),
    ("陽子", "yoko"),
    ("直樹", "naoki"),
    ("晓明", "xiaoming"),
    ("丽华", "lihua"),
    ("文杰", "wenjie"),
    ("雅婷", "yating"),
    ("一郎", "ichiro"),
)
EAST_EVERY, EAST_FIRST = 20, 13

STREETS = _names(
    "Birch Alder Willow Chapel Harbour Meadow Orchard Station Quarry Bridge Castle Foundry Maple "
    "Heron Lantern Windmill Abbey Copper Falcon Garnet Juniper Linden Mill Priory"
)
WAYS = ("Lane", "Street", "Road", "Court")
TOWNS = _names(
    "Oakham Wexcombe Tarnwick Elmsford Brightsea Coldbrook Dunmere Fernley Graystow Hollin "
    "Kestwick Marlow"
)
RANKS = _names("deputy chief acting senior junior second honorary assistant interim regional")
ROLES = _names(
    "treasurer auditor archivist surveyor registrar actuary curator bursar notary cashier "
    "inspector librarian clerk chemist editor coroner"
)
BANKS = _names(
    "Northgate Ironbridge Silverdale Stonehaven Redcliff Bluewater Highfield Kingsway Lakeside "
    "Moorland Newhaven Overton Parkside Queensbury Ravenhill Southgate Thornton Underwood "
    "Valeview Westbourne"
)

_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou")
_NO_ACCENT = str.maketrans({"Ł": "L", "ł": "l", "ø": "o", "ı": "i", "'": None})


@dataclass(frozen=True)
class Person:
    """A user: the key, the full name (distinct among all users) and how they sign."""

    user: str
    name: str
    given: str


def ascii_letters(name: str) -> str:
    """`name` in lower-case ASCII, accents dropped."""
    plain = unicodedata.normalize("NFKD", name.translate(_NO_ACCENT))
    return plain.encode("ascii", "ignore").decode("ascii").lower()


def _further_surname(number: int) -> str:
    """A surname out of syllables, appended when the lists alone would repeat a name; "" for 0."""
    if number == 0:
        return ""
    chosen = digits(number - 1, (len(_SYLLABLES), len(_SYLLABLES)))
    return " " + "".join(_SYLLABLES[digit] for digit in chosen).capitalize() + "sen"


def person(seed: int, index: int) -> Person:
    """The person at `index`. Full names are distinct up to MAX_USERS."""
    east = index % EAST_EVERY == EAST_FIRST
    firsts, lasts = (EAST_GIVEN, EAST_FAMILIES) if east else (GIVEN, SURNAMES)
    number = index // EAST_EVERY if east else index
    size = len(firsts) * len(lasts)
    extra, number = divmod(number, size)
    label = "eastern names" if east else "names"
    first, last = digits(scramble(seed, label, number, size), (len(firsts), len(lasts)))
    further = _further_surname(extra)
    if east:
        (given, short), (family, long) = EAST_GIVEN[first], EAST_FAMILIES[last]
        name = f"{family} {given}{further}"
    else:
        given, family = GIVEN[first], SURNAMES[last]
        short, long = ascii_letters(given), ascii_letters(family)
        name = f"{given} {family}{further}"
    return Person(f"{short}.{long}.{index}@example.org", name, given)
