"""Parse a letter with bounded work: the standard parsers take quadratic time for some headers, and
time for each line that grows with the depth of its parts.
"""

import re
from email.errors import MessageError
from email.message import Message
from email.parser import BytesParser
from typing import Any

LONGEST_HEADER = 2000
"""Characters of a header that is taken apart; by RFC 5322 a line has at most 998."""
MOST_PARTS = 5_000
DEEPEST = 16
MOST_LINES = 1 << 20


class TooComplexError(MessageError):
    """A letter that would take too much work; nobody writes such letters."""


class BoundedMessage(Message):
    """A message, or a part of one, that refuses to grow without limit."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._root: BoundedMessage = self
        self._depth, self._parts = 0, 1

    def attach(self, payload: Any) -> None:
        """Add a part, as the parser does when it finds one."""
        if isinstance(payload, BoundedMessage):
            payload._root, payload._depth = self._root, self._depth + 1
            self._root._parts += 1
            if payload._depth > DEEPEST or self._root._parts > MOST_PARTS:
                raise TooComplexError("too many parts")
        super().attach(payload)

    def get_param(self, param: str, *arguments: Any, **options: Any) -> Any:
        """Return a parameter of a header that is short enough."""
        self.short("content-type")
        return super().get_param(param, *arguments, **options)

    def short(self, name: str) -> str:
        """Return a header as it stands, or an empty string; raise if it is too long."""
        value = str(self.get(name, ""))
        if len(value) > LONGEST_HEADER:
            raise TooComplexError("a header is too long")
        return value

    def short_bytes(self, name: str) -> bytes:
        """Return a header's bytes, unfolded by nobody, or none; raise if it is too long."""
        self.short(name)
        for field, value in self.raw_items():
            if field.lower() == name.lower():
                return str(value).encode("utf-8", "surrogateescape")
        return b""


def parse_message(raw: bytes) -> BoundedMessage:
    """Parse a letter; raise TooComplexError if it passes a limit."""
    if max(raw.count(b"\n"), raw.count(b"\r")) > MOST_LINES:
        raise TooComplexError("too many lines")
    return BytesParser(BoundedMessage).parsebytes(raw)


def parse_head(raw: bytes) -> BoundedMessage:
    """Parse the headers of a letter, and nothing below them."""
    end = re.search(rb"\r?\n\r?\n", raw)
    return parse_message(raw[: end.end()] if end else raw)
