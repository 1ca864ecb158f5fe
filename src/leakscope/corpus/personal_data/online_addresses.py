"""Where somebody is reached online: e-mail addresses and URLs."""

import re

from leakscope.corpus.personal_data.number_edges import LETTER, Spans
from leakscope.corpus.words import CJK

_EMAIL = re.compile(
    f"(?<!{LETTER})(?<![.%+-])(?:{LETTER}|[.%+-]){{1,64}}@"
    f"(?:{LETTER}(?:{LETTER}|-){{0,62}}\\.){{1,8}}[^\\W\\d_{CJK}]{{2,24}}(?!{LETTER})"
)
_REST = '[^\\s<>"。，、！？；：（）「」『』【】《》]+'
_URL = re.compile(
    f"(?<!{LETTER})(?:[a-z][a-z0-9+.-]{{1,15}}://|www\\.){_REST}"
    # grown together with the word before, as text taken from web pages often is
    f"|(?<=[a-z])(?:https?://|www\\.(?=[a-z0-9-]{{1,63}}\\.[a-z])){_REST}",
    re.IGNORECASE,
)
_GLUED = re.compile(r"[a-z]+(?=https?://)", re.IGNORECASE)
_URL_MARK = re.compile(r"://|www\.", re.IGNORECASE)


def emails(text: str) -> Spans:
    """E-mail addresses with a domain."""
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))


def urls(text: str) -> Spans:
    """URLs with a scheme, or beginning with "www."; without the punctuation of the sentence."""
    if _URL_MARK.search(text):
        for match in _URL.finditer(text):
            glued = _GLUED.match(match[0])
            start = match.start() + (glued.end() if glued else 0)
            address = text[start : match.end()]
            address = address[: _url_end(address)]
            if _URL_MARK.search(address) and not address.endswith("://"):
                yield start, start + len(address)


def _url_end(address: str) -> int:
    """Where the URL ends and the punctuation of the sentence begins."""
    end, unopened = len(address), address.count(")") - address.count("(")
    while end and (address[end - 1] in ".,;:!?'’”" or (address[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= address[end] == ")"
    return end
