"""Numbers that reach a person or their money: cards, accounts, phones, IP addresses."""

import ipaddress
import re
from collections.abc import Iterator

from leakscope.corpus.words import CJK

Spans = Iterator[tuple[int, int]]

_LETTER = f"[^\\W{CJK}]"
# A number starts and ends here: no letter, digit or placeholder grows on to it, nor a decimal
# point, a colon of a time, a slash of a date.
_START = f"(?<!{_LETTER})(?<![\\d+][.,:/-])(?<!xx[.,:/-])"
_END = f"(?!{_LETTER})(?![.,:/-]\\d)"
_SEP = "[ \u00a0./()-]"

# Groups of digits with single separators; possessive, so a run is read once.
_CHAIN = re.compile(f"(?<!{_LETTER})\\d++(?:[ \u00a0-]\\d++)*+(?!{_LETTER})")
_GROUP = re.compile(r"\d+")
_LEAST_CARD, _MOST_CARD = 13, 19

_IBANS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 "
    "EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 "
    "IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 "
    "NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 "
    "TN24 TR26 UA29 VA22 VG24 XK20"
)
_IBAN_LENGTHS = {code[:2]: int(code[2:]) for code in _IBANS.split()}
# Looks ahead only, so that a candidate that fails hides none that begins inside it.
_IBAN = re.compile(
    f"(?<!{_LETTER})(?=([A-Za-z]{{2}}[0-9]{{2}}(?:[ -]?[A-Za-z0-9]){{11,30}}))", re.ASCII
)
_CUE_REACH = 64  # characters between the word "account" and its number
_ACCOUNT_CUE = re.compile(
    r"(?:\b(?:accounts?|acct|acc|iban|kontonummer|konto|kto|compte|cuenta|conto|conta|rekening|"
    r"számlaszám|rachunek|sort code|routing)\b|\ba/c\b|账号|账户|口座)"
    r"(?:(?!xx[A-Z])[^\d.!?\n]|\b(?:no|nr|num)\.)*$",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(f"{_START}\\d(?:[ \u00a0-]?\\d){{5,23}}{_END}")

_DATE = re.compile(
    r"(?:0?[1-9]|[12]\d|3[01])([./-])(?:0?[1-9]|[12]\d|3[01])\1(?:19|20)?\d\d(?!\d)"
    r"|(?:0[1-9]|[12]\d|3[01]) (?:0[1-9]|1[0-2]) (?:19|20)\d\d(?!\d)"
    r"|(?:19|20)\d\d[ ./-]?(?:0[1-9]|1[0-2])[ ./-]?(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
_PHONE = re.compile(
    f"(?<!{_LETTER})(?:\\+|00) ?[1-9](?:{_SEP}{{0,2}}\\d){{6,14}}{_END}"  # +44 (0)20 7946 0958
    f"|{_START}(?:"
    "0\\d(?:([ .-])\\d\\d)(?:\\1\\d\\d){2,3}"  # 06 12 34 56 78
    f"|\\(?0[1-9](?:{_SEP}{{0,2}}\\d){{5,10}}"  # 020 7946 0958, (030) 1234567
    "|(?:1[ .-]?)?(?:\\([2-9]\\d\\d\\) ?|[2-9]\\d\\d[ .-])\\d{3}[ .-]\\d{4}"  # (555) 123-4567
    "|[2-9]\\d\\d-\\d{4}"  # 555-1234
    "|1[3-9]\\d([ -]?)\\d{4}\\2\\d{4}"  # 138 1234 5678
    f"){_END}"
)
_PHONE_CUE = re.compile(
    r"(?:\b(?:(?:tele)?phones?|tel|mobile|mobil|cell|fax|handy|telefon|téléphone|teléfono|telefono|"
    r"telefone|whatsapp|call|dial|ring|sms)\b|电话|手机|電話)(?:(?!xx[A-Z])[^\d!?\n])*$",
    re.IGNORECASE,
)
_CALLED = re.compile(f"{_START}\\(?\\d(?:{_SEP}{{0,2}}\\d){{6,14}}{_END}")

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = re.compile(
    f"(?<!{_LETTER})(?<![.-])(?<!version )(?:{_OCTET}\\.){{3}}{_OCTET}(?!{_LETTER}|[.-]\\d)",
    re.IGNORECASE,
)
_IPV6 = re.compile(f"(?<!{_LETTER})(?<![:.])[0-9A-Fa-f:][0-9A-Fa-f:.]{{2,44}}(?!{_LETTER}|:)")


def _luhn(number: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(map(int, reversed(number))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def cards(text: str) -> Spans:
    """Payment cards: 13 to 19 digits in one piece or in groups of three and more, Luhn-checked."""
    for chain in _CHAIN.finditer(text):
        if len(chain[0]) < _LEAST_CARD:
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
    number, found = "", None
    for last in range(first, min(first + 6, len(groups))):
        number += groups[last][0][: _MOST_CARD + 1]
        if len(number) > _MOST_CARD or number[0] == "0":
            break
        if len(number) >= _LEAST_CARD and _luhn(number):
            found = last
        if len(groups[last][0]) < 3:  # only the last group may be so short
            break
    return found


def accounts(text: str) -> Spans:
    """IBANs with a right checksum, and numbers that a word such as "account" announces."""
    for match in _IBAN.finditer(text):
        length = _iban_length(match[1])
        end = match.start() + length
        if length and not re.match(_LETTER, text[end : end + 1]):
            yield match.start(), end
    for match in _ACCOUNT.finditer(text):
        before = text[max(0, match.start() - _CUE_REACH) : match.start()]
        if _ACCOUNT_CUE.search(before) and not _DATE.match(match[0]):
            yield match.span()


def _iban_length(candidate: str) -> int:
    """How many characters of `candidate` are an IBAN; 0 if it does not begin with one."""
    size = _IBAN_LENGTHS.get(candidate[:2].upper(), 0)
    places = [place for place, letter in enumerate(candidate) if letter not in " -"]
    if not size or len(places) < size:
        return 0
    plain = "".join(candidate[place] for place in places[:size])
    if int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 != 1:
        return 0
    return places[size - 1] + 1


def phones(text: str) -> Spans:
    """International and common national forms, and any seven digits that "phone" announces."""
    for match in _PHONE.finditer(text):
        yield from _undated(match)
    for match in _CALLED.finditer(text):
        before = text[max(0, match.start() - _CUE_REACH) : match.start()]
        if _PHONE_CUE.search(before):
            yield from _undated(match)


def _undated(match: re.Match[str]) -> Spans:
    """The number without a bracket that does not close in it; nothing if it begins as a date."""
    bracket = match[0][0] == "(" and ")" not in match[0]
    if not _DATE.match(match[0].lstrip("(")):
        yield match.start() + bracket, match.end()


def ip_addresses(text: str) -> Spans:
    """IPv4 addresses (also such version numbers as 1.2.3.4, if nothing tells) and IPv6 ones."""
    if text.count(".") >= 3:
        yield from (match.span() for match in _IPV4.finditer(text))
    if text.count(":") >= 2:
        for match in _IPV6.finditer(text):
            candidate = match[0].rstrip(".")
            if candidate.count(":") >= 2 and re.search("[0-9]", candidate):
                try:
                    ipaddress.IPv6Address(candidate)
                except ValueError:
                    continue
                yield match.start(), match.start() + len(candidate)
