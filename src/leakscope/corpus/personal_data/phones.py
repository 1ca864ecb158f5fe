"""Phone numbers: by their form, by the words that announce them, and by the rules of a region.

Patterns find candidates, and phonenumbers judges some of them. It is imported when there is one.
"""

import re

from leakscope.corpus.personal_data.number_edges import DATE, END, LETTER, START, Spans, text_before

_SEP = "[ \u00a0./()-]"
_INTERNATIONAL = re.compile(  # +44 (0)20 7946 0958
    f"(?<!{LETTER})(?:\\+|00) ?[1-9](?:{_SEP}{{0,2}}\\d){{6,14}}{END}"
)
_NATIONAL = re.compile(
    f"{START}(?:"
    "0\\d(?:([ .-])\\d\\d)(?:\\1\\d\\d){2,3}"  # 06 12 34 56 78
    f"|\\(?0[1-9](?:{_SEP}{{0,2}}\\d){{5,10}}"  # 020 7946 0958, (030) 1234567
    "|(?:1[ .-]?)?(?:\\([2-9]\\d\\d\\) ?|[2-9]\\d\\d[ ./-])\\d{3}[ .-]\\d{4}"  # (555) 123-4567
    "|[2-9]\\d\\d-\\d{4}"  # 555-1234
    "|1[3-9]\\d([ -]?)\\d{4}\\2\\d{4}"  # 138 1234 5678
    f"){END}"
)
_WITHOUT_PLUS = re.compile(  # 44.20.7946.0958
    f"{START}[1-9]\\d{{0,2}}([.-])\\d{{1,4}}\\1\\d{{3,4}}\\1\\d{{4}}{END}"
)
_ANY = re.compile(f"{START}\\(?\\d(?:{_SEP}{{0,2}}\\d){{6,14}}{END}")
_BRACKETED = re.compile("\\((\\d(?:[ \u00a0-]?\\d){6,14})\\)")
_BETWEEN = re.compile(r"\s*(?:[,;/&]|and\b|or\b|und\b|oder\b|et\b|ou\b)?\s*")
_GROUP = re.compile(r"\d+")
_LEAST_DIGITS = 7

# Any seven digits or more after one of these are a phone number.
_CUE = re.compile(
    r"(?:\b(?:(?:tele|hand|cell)?phones?|tel|mobile|mobil|cell|fax|handy|tél|telefon|téléphone|"
    r"teléfono|telefono|telefone|whatsapp|call|dial|ring|sms)\b|电话|手机|電話)"
    r"(?:(?!xx[A-Z])[^\d!?\n])*$",
    re.IGNORECASE,
)
# After one of these they are one if the region has such a number: "his number is 98765432".
_LINK = (
    r"(?:(?!xx[A-Z])[^\d.!?;\n]{0,40}?"
    r"(?:\b(?:is|are|was|at|on|to|ist|est|es|è)\b|['’]s\b|[:=是は]))"
)
_REGION_CUE = re.compile(
    r"(?:(?:\b(?:hp|h/p|mob|text|msg|telegram|viber|numéro|número|numero|nummer|"
    r"numbers?(?!\s+of\s+(?!my|our|your|his|her|their|(?-i:[A-Z])))|no(?=\.|\s*(?:is\b|[:=])))\b\.?"
    rf"|号码|番号){_LINK}?|\b(?:contact|reach|message|signal)\b{_LINK})"
    r"[\s:=,(]*$",
    re.IGNORECASE,
)
# Things that have numbers of their own, and people who do in somebody's books.
_THING = (
    r"\b(?:(?:orders?|purchase|invoices?|receipt|tickets?|tracking|booking|reservation|"
    r"confirmation|reference|ref|case|claim|policy|serial|model|part|product|item|sku|lot|batch|"
    r"passport|id|identity|licen[cs]e|registration|tax|vat|isbn|issn|transaction|parcel|shipment|"
    r"contract|build|issue|account|acct|pages?|commande|facture|bestellung|rechnung|auftrag|pedido|"
    r"factura|ordine)"
    r"|(?:customer|member|membership|student|employee|staff)(?=[\s-]*(?:number|no|nr|id)\b))"
)
_OF_A_THING = re.compile(f"{_THING}[\\s-]*$", re.IGNORECASE)
_THING_NUMBER = re.compile(
    f"{_THING}[\\s-]*(?:(?:numbers?|no|nr|num|id)\\b\\.?)?(?:\\s*(?:\\b(?:is|was)\\b|[:=#(]))*\\s*$",
    re.IGNORECASE,
)


def phones(text: str, region: str | None = None) -> Spans:
    """International and common national forms, and any seven digits that "phone" announces.

    With a `region` such as "SG", also its own numbers where a weaker word announces them, or
    where they stand in brackets, grouped as they are written there.
    """
    for match in _INTERNATIONAL.finditer(text):
        if end := _international_end(match):
            yield match.start(), end
    for match in _WITHOUT_PLUS.finditer(text):
        if _is_valid(match[0]) and not _THING_NUMBER.search(text_before(text, match.start())):
            yield match.span()
    for match in _NATIONAL.finditer(text):
        yield from _undated(match, match.end())
    for match in _ANY.finditer(text):
        before = text_before(text, match.start())
        if _CUE.search(before) and not _THING_NUMBER.search(before):
            yield from _undated(match, match.end())
    if region is not None:
        yield from _of_region(text, region)


def _undated(match: re.Match[str], end: int) -> Spans:
    """The number without a bracket that does not close in it; nothing if it begins as a date."""
    number = match.string[match.start() : end]
    bracket = number[0] == "(" and ")" not in number
    if not DATE.match(number.lstrip("(")):
        yield match.start() + bracket, end


def _ends(match: re.Match[str], skipped: int = 0) -> list[int]:
    """Where a number may end that starts with the match: after which groups, the last first."""
    digits, ends = 0, []
    for group in _GROUP.finditer(match.string, match.start() + skipped, match.end()):
        digits += group.end() - group.start()
        if digits >= _LEAST_DIGITS:
            ends.append(group.end())
    return ends[::-1]


def _international_end(match: re.Match[str]) -> int:
    """Where the longest number of a length that its country has ends; 0 if there is none.

    What follows is left out group by group: in "+65 9123 4567 2024" the year is not part of it.
    """
    import phonenumbers

    skipped = 1 if match[0][0] == "+" else 2
    for end in _ends(match, skipped):
        try:
            number = phonenumbers.parse("+" + match.string[match.start() + skipped : end])
        except phonenumbers.NumberParseException:  # no such country
            continue
        verdict = phonenumbers.is_possible_number_with_reason(number)
        if verdict == phonenumbers.ValidationResult.IS_POSSIBLE:  # not one without its area code
            return end
    return 0


def _is_valid(number: str) -> bool:
    """Whether a country has this number, which begins with the country's code without a plus."""
    import phonenumbers

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse("+" + number))
    except phonenumbers.NumberParseException:
        return False


def _of_region(text: str, region: str) -> Spans:
    """Numbers that the region has, where a sentence or brackets show that they are phones."""
    place, last = 0, -1
    while match := _ANY.search(text, place):
        place = match.end()
        another = last >= 0 and _BETWEEN.fullmatch(text, last, match.start())
        if not another and not _called(text_before(text, match.start())):
            continue
        for end in _ends(match):
            if _groups_there(text[match.start() : end], region):
                yield from _undated(match, end)
                place = last = end
                break
    for match in _BRACKETED.finditer(text):
        groups = _GROUP.findall(match[1])
        if len(groups) > 1 and groups == _groups_there(match[1], region):
            yield match.span(1)


def _called(before: str) -> bool:
    """Whether these words end by announcing a number that may be a phone's."""
    cue = _REGION_CUE.search(before)
    return (
        cue is not None
        and not _OF_A_THING.search(before[: cue.start()])
        and not _THING_NUMBER.search(before)
    )


def _groups_there(number: str, region: str) -> list[str]:
    """The groups in which the region writes this number; none if it has no such number."""
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return []
    if not phonenumbers.is_valid_number(parsed):
        return []
    written = phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    return _GROUP.findall(written)[1:]  # without the country
