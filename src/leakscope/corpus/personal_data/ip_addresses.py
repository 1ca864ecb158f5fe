"""IP addresses."""

import ipaddress
import re

from leakscope.corpus.personal_data.number_edges import LETTER, Spans

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = re.compile(
    f"(?<!{LETTER})(?<![.-])(?<!version )(?:{_OCTET}\\.){{3}}{_OCTET}(?!{LETTER}|[.-]\\d)",
    re.IGNORECASE,
)
_IPV6 = re.compile(f"(?<!{LETTER})(?<![:.])[0-9A-Fa-f:][0-9A-Fa-f:.]{{2,44}}(?!{LETTER}|:)")


def ip_addresses(text: str) -> Spans:
    """IPv4 and IPv6 addresses; also version numbers such as 1.2.3.4, unless a word tells them."""
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
