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
    "|(?:1[ .-]?)?(?:\\([2-9]\\d\\d\\) ?|[2-9]\\d\\d[ .-])\\d{3}[ .-]\\d{4}"  # (555) 123-4567
    "|[2-9]\\d\\d-\\d{4}"  # 555-1234
    "|1[3-9]\\d([ -]?)\\d{4}\\2\\d{4}"  # 138 1234 5678
    f"){END}"
)
_ANY = re.compile(f"{START}\\(?\\d(?:{_SEP}{{0,2}}\\d){{6,14}}{END}")
_GROUP = re.compile(r"\d+")
_LEAST_DIGITS = 7

# Any seven digits or more after one of these are a phone number.
_CUE = re.compile(
    r"(?:\b(?:(?:tele|hand|cell)?phones?|tel|mobile|mobil|cell|fax|handy|telefon|téléphone|"
    r"teléfono|telefono|telefone|whatsapp|call|dial|ring|sms)\b|电话|手机|電話)"
    r"(?:(?!xx[A-Z])[^\d!?\n])*$",
    re.IGNORECASE,
)
# After one of these they are one if the region has such a number: "his number is 98765432".
_REGION_CUE = re.compile(
    r"(?P<cue>\b(?:hp|h/p|mob|contact|reach|text|message|msg|telegram|signal|viber|numéro|número|"
    r"numero|nummer|numbers?(?!\s+of\s+(?!my|our|your|his|her|their|(?-i:[A-Z])))|"
    r"no(?=\.|\s*(?:is\b|[:=])))\b\.?|号码|番号)"
    r"(?:(?!xx[A-Z])[^\d.!?;\n]{0,40}?(?:\b(?:is|are|was|at|on|to|ist|est|es|è)\b|['’]s\b|[:=是]))?"
    r"[\s:=,(]*$",
    re.IGNORECASE,
)
# Things that have numbers of their own, and people who do in somebody's books.
_THING = (
    r"\b(?:(?:orders?|purchase|invoices?|receipt|tickets?|tracking|booking|reservation|"
    r"confirmation|reference|ref|case|claim|policy|serial|model|part|product|item|sku|lot|batch|"
    r"passport|id|identity|licen[cs]e|registration|tax|vat|isbn|issn|transaction|parcel|shipment|"
    r"contract|build|issue|account|acct)"
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
        end = _international_end(match)
        if end and not DATE.match(match[0]):
            yield match.start(), end
    for match in _NATIONAL.finditer(text):
        yield from _undated(match)
    for match in _ANY.finditer(text):
        before = text_before(text, match.start())
        called = _CUE.search(before) or (region and _called_there(match, before, region))
        if called and not _THING_NUMBER.search(before):
            yield from _undated(match)


def _undated(match: re.Match[str]) -> Spans:
    """The number without a bracket that does not close in it; nothing if it begins as a date."""
    bracket = match[0][0] == "(" and ")" not in match[0]
    if not DATE.match(match[0].lstrip("(")):
        yield match.start() + bracket, match.end()


def _international_end(match: re.Match[str]) -> int:
    """Where the longest number of a length that its country has ends; 0 if there is none.

    What follows is left out group by group: in "+65 9123 4567 2024" the year is not part of it.
    """
    from phonenumbers import NumberParseException, is_possible_number, parse

    skipped = 1 if match[0][0] == "+" else 2
    digits = 0
    ends = []
    for group in _GROUP.finditer(match[0], skipped):
        digits += group.end() - group.start()
        if digits >= _LEAST_DIGITS:
            ends.append(group.end())
    for end in reversed(ends):
        try:
            if is_possible_number(parse("+" + match[0][skipped:end])):
                return match.start() + end
        except NumberParseException:  # no such country
            continue
    return 0


def _called_there(match: re.Match[str], before: str, region: str) -> bool:
    """Whether the words before it, or its brackets and groups, make it a number of the region."""
    cue = _REGION_CUE.search(before)
    called = cue is not None and not _OF_A_THING.search(before[: cue.start()])
    whole = match.string
    bracketed = match[0][0] == "(" and whole[match.end() : match.end() + 1] == ")"
    if not called and not bracketed:
        return False
    import phonenumbers

    try:
        number = phonenumbers.parse(match[0], region)
    except phonenumbers.NumberParseException:
        return False
    if not phonenumbers.is_valid_number(number):
        return False
    international = phonenumbers.PhoneNumberFormat.INTERNATIONAL
    written = _GROUP.findall(phonenumbers.format_number(number, international))[1:]
    groups = _GROUP.findall(match[0])
    return called or (len(groups) > 1 and groups == written)
