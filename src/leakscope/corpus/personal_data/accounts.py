"""Bank accounts: IBANs, and numbers that a word such as "account" announces."""

import re
from functools import cache

from leakscope.corpus.personal_data.number_edges import DATE, END, LETTER, START, Spans, text_before

# Looks ahead only, so that a candidate that fails hides none that begins inside it.
_IBAN = re.compile(
    f"(?<!{LETTER})(?=([A-Za-z]{{2}}[0-9]{{2}}(?:[ -]?[A-Za-z0-9]){{11,30}}))", re.ASCII
)
_BEFORE_BANK = 4  # the letters of the country and two check digits
_CUE = re.compile(
    r"(?:\b(?:accounts?|acct|acc|iban|kontonummer|konto|kto|compte|cuenta|conto|conta|rekening|"
    r"számlaszám|rachunek|sort code|routing)\b|\ba/c\b|账号|账户|口座)"
    r"(?:(?!xx[A-Z])[^\d.!?\n]|\b(?:no|nr|num)\.)*$",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(f"{START}\\d(?:[ \u00a0-]?\\d){{5,23}}{END}")


def accounts(text: str) -> Spans:
    """IBANs with a correct checksum, and numbers that a word such as "account" announces."""
    for match in _IBAN.finditer(text):
        length = _iban_length(match[1])
        end = match.start() + length
        if length and not re.match(LETTER, text[end : end + 1]):
            yield match.start(), end
    for match in _ACCOUNT.finditer(text):
        if _CUE.search(text_before(text, match.start())) and not DATE.match(match[0]):
            yield match.span()


def _iban_length(candidate: str) -> int:
    """How many characters of `candidate` are an IBAN; 0 if it does not begin with one."""
    from stdnum import iban

    size = _country_length(candidate[:2].upper())
    places = [place for place, letter in enumerate(candidate) if letter not in " -"]
    if not size or len(places) < size:
        return 0
    end = places[size - 1] + 1
    return end if iban.is_valid(candidate[:end], check_country=False) else 0


@cache
def _country_length(country: str) -> int:
    """The length of this country's IBANs by the register that stdnum carries; 0 if it has none."""
    from stdnum import numdb

    known = numdb.get("iban").info(country)[0][1]
    parts = re.findall(r"(\d+)!", known.get("bban", ""))
    return _BEFORE_BANK + sum(map(int, parts)) if parts else 0
