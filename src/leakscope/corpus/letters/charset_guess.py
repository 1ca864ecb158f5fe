"""The charset of a text that names none, or a wrong one. The same bytes give the same text.

Letters without a charset are mostly Western, and then only Windows' charset (which has Latin-1 in
it) and that of old Macs are in question. Which of the two is told by whether their characters stand
where people put them: of short texts that is more often right than statistics, which are asked for
everything else.
"""

import unicodedata

WESTERN = ("cp1252", "mac-roman")
"""The likelier one first; it wins a tie."""
ELSEWHERE = ("cp1251", "koi8_r", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "cp1250")
LEAST_IN_PLACE = 0.8
"""Share of the characters beyond ASCII that must stand where people put them."""
MOST_ACCENTED = 0.6
"""Share of the letters, in words with such characters, that a Western text accents at most."""
LEAST_BYTES = 8
"""Bytes beyond ASCII that statistics need."""
MOST_BYTES = 1 << 16
"""Bytes that are looked at."""
_OPENING, _CLOSING = "“‘«„‚¿¡‹", "”’»›"
_BESIDE_NUMBERS = "€£¥¢§°±µ²³¹¼½¾·×÷¶†‡‰"
_BESIDE_WORDS = "–™®©ªº"
_WORDS_OF_THEIR_OWN = "àáéèíóòöôùúøåæÀÁÉÈÓÒÖÔØÅ"
_ANYWHERE = "\u00a0—…•"


def guess_text(data: bytes) -> str | None:
    """Decode bytes that are not UTF-8; None if no charset is likely."""
    sample = b"\n".join(line for line in data.splitlines() if not line.isascii())[:MOST_BYTES]
    charset = _western(sample) or _elsewhere(sample)
    try:
        return None if charset is None else data.decode(charset)
    except UnicodeError:
        return None  # beyond the sample


def _western(sample: bytes) -> str | None:
    best, most = None, LEAST_IN_PLACE
    for charset in WESTERN:
        try:
            text = sample.decode(charset)
        except UnicodeError:
            continue
        share = 0.0 if _mostly_accented(text) else _share_in_place(text)
        if share > most or (best is None and share >= most):
            best, most = charset, share
    return best


def _mostly_accented(text: str) -> bool:
    words = [word for word in text.split() if not word.isascii()]
    letters = [char for word in words for char in word if char.isalpha()]
    return sum(char > "\x7f" for char in letters) > MOST_ACCENTED * len(letters)


def _share_in_place(text: str) -> float:
    """Share of the characters beyond ASCII that stand where people put them."""
    padded = f" {text} "
    places = [place for place, char in enumerate(padded) if char > "\x7f"]
    fitting = sum(_in_place(*padded[place - 1 : place + 2]) for place in places)
    return fitting / len(places) if places else 0.0


def _in_place(before: str, char: str, after: str) -> bool:
    """Tell whether a character may stand between two others."""
    inside = before.isalpha() and after.isalpha()
    if char.isalpha() and char not in "ªº":
        beside = before.isalpha() or after.isalpha() or char in _WORDS_OF_THEIR_OWN
        capital_inside = char.isupper() and (before.islower() or (inside and after.islower()))
        fits = beside and not capital_inside
    elif char == "’":
        fits = before.isalnum() or after.isalnum() or before in ".,!?)"
    elif char in _OPENING:
        fits = not before.isalnum() and not after.isspace()
    elif char in _CLOSING:
        fits = not before.isspace() and not after.isalnum()
    elif char in _BESIDE_NUMBERS:
        fits = not (before.isalpha() or after.isalpha()) or before.isdigit() or after.isdigit()
    elif char in _BESIDE_WORDS:
        fits = not inside
    else:
        lonely = not (before.isalpha() or after.isalpha())
        fits = char in _ANYWHERE or (lonely and unicodedata.category(char) != "Cc")
    return fits


def _elsewhere(sample: bytes) -> str | None:
    if sum(byte > 127 for byte in sample) < LEAST_BYTES:
        return None
    from charset_normalizer import from_bytes  # noqa: PLC0415  # few inputs need it

    found = from_bytes(sample, cp_isolation=list(ELSEWHERE)).best()
    if found is None or _share_in_place(str(found)) < LEAST_IN_PLACE:
        return None
    return found.encoding
