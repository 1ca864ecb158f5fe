"""Where somebody is reached online: e-mail addresses and URLs."""

import re

from leakscope.corpus.personal_data.number_edges import LETTER, Spans
from leakscope.corpus.words import CJK

_EMAIL = re.compile(
    f"(?<!{LETTER})(?<![.%+-])(?:{LETTER}|[.%+-]){{1,64}}@"
    f"(?:{LETTER}(?:{LETTER}|-){{0,62}}\\.){{1,8}}[^\\W\\d_{CJK}]{{2,24}}(?!{LETTER})"
)
_URL = re.compile(
    f'(?<!{LETTER})(?:[a-z][a-z0-9+.-]{{1,15}}://|www\\.)[^\\s<>"。，、！？；：（）「」『』【】《》]+',
    re.IGNORECASE,
)
_URL_MARK = re.compile(r"://|www\.", re.IGNORECASE)


def emails(text: str) -> Spans:
    """E-mail addresses with a domain."""
    if "@" in text:
        yield from (match.span() for match in _EMAIL.finditer(text))


def urls(text: str) -> Spans:
    """URLs with a scheme, or beginning with "www."; without the punctuation of the sentence."""
    if _URL_MARK.search(text):
        for match in _URL.finditer(text):
            address = match[0][: _url_end(match[0])]
            if _URL_MARK.search(address) and not address.endswith("://"):
                yield match.start(), match.start() + len(address)


def _url_end(address: str) -> int:
    """Where the URL ends and the punctuation of the sentence begins."""
    end, unopened = len(address), address.count(")") - address.count("(")
    while end and (address[end - 1] in ".,;:!?'’”" or (address[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= address[end] == ")"
    return end
