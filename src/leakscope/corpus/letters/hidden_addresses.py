"""Addresses that list archives hide from those who collect them: some forms can be undone, others
have lost letters for good.
"""

import re

_MIDDLE = r"(?:at|using|bei|en|à|em|presso)"
_SPELLED = re.compile(
    rf"(\S+?)(?:\s+{_MIDDLE}\s+|\s*[\[({{<]\s*at\s*[\])}}>]\s*|\s\(\)\s)(\S+(?:\s(?:dot|!)\s\S+)*)",
    re.IGNORECASE,
)
_DOT = re.compile(r"\s(?:dot|!)\s|\s*[\[({]\s*dot\s*[\])}]\s*", re.IGNORECASE)
_WHOLE = re.compile(r"[^\s@|*<>()]+@[^\s@|*<>()]+")
_CUT = re.compile(r"\.{2,}@|@\.")
_REPLACED = re.compile(
    r"\s(?:@end\|ng \|rom|@ending from|m@iii@g oii|m@ili@g off)\s", re.IGNORECASE
)
_COARSE = str.maketrans(dict.fromkeys("asn.", "@") | dict.fromkeys("ilf", "|"))
"""The letters that Mailman's archives replace in "ann@doe @end|ng |rom x@org", "... @ending from
...", "... m@iii@g oii ..." and "... m@ili@g off ...": each replaces some of these."""


def unhidden(text: str) -> str:
    """An address with "at", "using", "dot" and their like undone; other text as it is."""
    found = _SPELLED.fullmatch(_DOT.sub(".", text.strip()))
    return f"{found[1]}@{found[2]}" if found else text.strip()


def is_whole(address: str) -> bool:
    """Tell whether nothing is missing from an address: "@org" and "an...@x.org" are not whole."""
    return bool(_WHOLE.fullmatch(address)) and not _CUT.search(address)


def hidden_mark(text: str) -> str | None:
    """What is left of a hidden address, the same for all of the forms that replace letters; None
    if the text has no such form.
    """
    words = text.lower().split()
    plain = any("." in word and is_whole(word) for word in words)
    unknown_form = len(words) > 2 and ("@" in text or "|" in text) and not plain
    if not (unknown_form or _REPLACED.search(text)):
        return None
    return f"{words[0]} {words[-1]}".translate(_COARSE)


def mark_of_whole(address: str) -> str:
    """The mark that is left of a whole address where it is hidden."""
    return address.lower().replace("@", " ", 1).translate(_COARSE)
