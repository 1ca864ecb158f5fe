"""Who sent a letter, by its From line: an address, a name, or what a list has left of them."""

import base64
import binascii
import quopri
import re
from collections.abc import Callable
from email.utils import getaddresses
from typing import NamedTuple

from leakscope.corpus.letters.charset_guess import guess_text
from leakscope.corpus.letters.charsets import decode_known
from leakscope.corpus.letters.hidden_addresses import hidden_mark, is_whole, unhidden
from leakscope.corpus.letters.person_names import RELAYED, person_name

_COMMENT = re.compile(r"(?P<address>[^()<>\",]+?)\s*\((?P<name>.*)\)", re.DOTALL)
_ANGLES = re.compile(r"(?P<name>\"(?:[^\"\\]|\\.)*+\"|[^<>]*?)\s*<(?P<address>[^<>]*)>", re.DOTALL)
_ENCODED = re.compile(r"=\?([^?\s]{1,60})\?([bq])\?([^?\s]*)\?=", re.IGNORECASE)
_AT = re.compile(r"(?<!\s)\s*+(?<![^\s<>\"])([^\s<>\"]++) at ([^\s<>\"]+\.[^\s<>\"]+)")
_ORIGINAL = ("X-Original-From", "X-Original-Sender", "Reply-To")
"""Where list software that sends under its own address leaves the sender's."""
_AROUND = "'\"\\<>()[],;:"
"""What may stand around an address in a name."""


class Sender(NamedTuple):
    """What a letter says of its sender."""

    address: str | None = None
    """If it is whole and not that of list software."""
    name: str | None = None
    """As `person_name` gives it."""
    mark: str | None = None
    """What is left of an address in which letters were replaced."""
    place: str | None = None
    """An address that is not the sender's alone: a list's, or a part of one."""


def sender_of(header: Callable[[str], bytes]) -> Sender:
    """The sender by From; `header` gives a header's bytes, or none. Raises UnicodeError if the
    address is in an unknown charset: two of them must not become one user.
    """
    sender, shown = _parsed(header("From"))
    if shown is None:
        return sender
    called = sender.name or shown.name
    for field in _ORIGINAL:
        original, again = _parsed(header(field))
        same = original.address == shown.address or original.name == called is not None
        trusted = field != "Reply-To" or same
        if original.address not in (None, sender.address) and trusted and again is None:
            return original._replace(name=called or original.name)
    if shown.address not in (None, sender.address):
        return shown
    return Sender(name=called, place=sender.address or sender.mark or sender.place)


def _parsed(raw: bytes) -> tuple[Sender, Sender | None]:
    """The sender; and what the name shows of them, if list software sent the letter for them."""
    text, exact = _text(raw)
    name, sender = _apart(text)
    relayed = RELAYED.match(name)
    shown = None if relayed is None else _shown(relayed["name"])
    for address in (sender.address, shown and shown.address):
        if not exact and address is not None and not address.isascii():
            raise UnicodeError("undecodable address")
    return sender, shown


def _shown(name: str) -> Sender:
    """The one whole address in what list software calls a sender, and the name beside it."""
    words = [word.strip(_AROUND) for word in unhidden(name).split()]
    addresses = [word for word in words if is_whole(word)]
    if len(addresses) != 1:
        return Sender()
    beside = person_name(" ".join(word for word in words if word not in addresses))
    return Sender(addresses[0].lower(), beside)


def _apart(text: str) -> tuple[str, Sender]:
    """The name as it is written, and the sender."""
    found = _COMMENT.fullmatch(text) or _ANGLES.fullmatch(text)
    written, spelled = (_decoded(found["name"]), found["address"]) if found else ("", text)
    name = person_name(written)
    address = unhidden(spelled)
    if is_whole(address):
        return written, Sender(address.lower(), name)
    mark = hidden_mark(spelled)
    if mark is not None:
        return written, Sender(name=name, mark=mark)
    # The raw header goes first: a decoded name may hold a comma, which would end the address.
    for header in (text, _decoded(text)):
        inner, address = _first_address(header)
        if is_whole(address):
            return inner, Sender(address, name or person_name(_decoded(inner)))
        if "@" in address:
            return inner, Sender(name=name or person_name(_decoded(inner)), place=address)
    return written, Sender(name=name or (None if found else person_name(_decoded(text))))


def _first_address(header: str) -> tuple[str, str]:
    """The first address with an @, in lower case, and its name."""
    for name, address in getaddresses([_AT.sub(r"\1@\2", header)]):
        if "@" in address:
            return name, address.lower()
    return "", ""


def _text(raw: bytes) -> tuple[str, bool]:
    """A header on one line, and whether it was certain how to decode it."""
    line = b" ".join(raw.split())
    try:
        return line.decode(), True
    except UnicodeError:
        return guess_text(line) or line.decode("ascii", "replace"), False


def _decoded(text: str) -> str:
    """A header with its encoded words (RFC 2047) decoded; those that cannot be are left out."""

    def word(found: re.Match[str]) -> str:
        charset, way, content = found.groups()
        try:
            data = (
                base64.b64decode(content + "=" * (-len(content) % 4))
                if way in "bB"
                else quopri.decodestring(content.replace("_", " "), header=True)
            )
            return decode_known(data, charset.partition("*")[0])
        except (UnicodeError, binascii.Error, ValueError):
            return ""

    return _ENCODED.sub(word, re.sub(r"\?=\s+=\?", "?==?", text))
