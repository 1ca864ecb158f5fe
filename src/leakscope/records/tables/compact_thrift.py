"""Thrift's compact protocol, as far as the footers of Parquet files use it: read without a schema,
and written again byte for byte.

A struct is a dict from field numbers to values, in their order. A value is a pair of its kind and
its content: of a struct a dict, of a list the kind of its elements and their contents.
"""

import struct
from typing import Any, NamedTuple

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)


class Value(NamedTuple):
    """Of a field; `TRUE` and `FALSE` are kinds and have no content."""

    kind: int
    content: Any


class Elements(NamedTuple):
    """Of a list; those that are structs may be their encoded bytes."""

    kind: int
    contents: list[Any]


Struct = dict[int, Value]


def decoded(content: bytes) -> Struct:
    """The struct that all of `content` encodes; ValueError if it encodes none."""
    reader = _Reader(content)
    try:
        found = reader.struct()
    except (IndexError, struct.error):
        raise ValueError("the struct ends too early") from None
    if reader.place != len(content):
        raise ValueError("more follows than a struct")
    return found


def encoded(fields: Struct) -> bytes:
    """A struct in bytes; integers as short as they can be."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else _signed(self._varint())
            if number in fields:
                raise ValueError("a field comes twice")
            fields[number] = Value(kind, None if kind in (TRUE, FALSE) else self._content_of(kind))
        return fields

    def _content_of(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return _signed(self._varint())
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind == LIST:
            return self._elements()
        if kind in (TRUE, FALSE, BYTE):  # as an element of a list, a boolean is a byte
            return self._byte()
        if kind == DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        raise ValueError("no footer has a field of this kind")

    def _elements(self) -> Elements:
        head = self._byte()
        kind, size = head & 15, head >> 4
        if size == 15:
            size = self._varint()
        return Elements(kind, [self._content_of(kind) for _ in range(size)])

    def _byte(self) -> int:
        self.place += 1
        return self._content[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        if self.place > len(self._content):
            raise IndexError
        return self._content[self.place - size : self.place]

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift


def _signed(number: int) -> int:
    """0, 1, 2, 3, ... are 0, -1, 1, -2, ..."""
    return (number >> 1) ^ -(number & 1)


def _write_struct(out: bytearray, fields: Struct) -> None:
    before = 0
    for number, value in fields.items():
        step = number - before
        if 0 < step < 16:
            out.append(step << 4 | value.kind)
        else:
            out.append(value.kind)
            _write_varint(out, number)
        if value.kind not in (TRUE, FALSE):
            _write_content(out, value.kind, value.content)
        before = number
    out.append(0)


def _write_content(out: bytearray, kind: int, content: Any) -> None:
    if kind in _INTEGERS:
        _write_varint(out, content)
    elif kind == BINARY:
        _write_size(out, len(content))
        out += content
    elif kind == STRUCT and isinstance(content, bytes):
        out += content
    elif kind == STRUCT:
        _write_struct(out, content)
    elif kind == LIST:
        size = len(content.contents)
        out.append(min(size, 15) << 4 | content.kind)
        if size >= 15:
            _write_size(out, size)
        for each in content.contents:
            _write_content(out, content.kind, each)
    elif kind in (TRUE, FALSE, BYTE):
        out.append(content)
    elif kind == DOUBLE:
        out += struct.pack("<d", content)
    else:
        raise ValueError("no footer has a field of this kind")


def _write_varint(out: bytearray, number: int) -> None:
    """A signed one: 0, -1, 1, -2, ... are 0, 1, 2, 3, ..."""
    _write_size(out, number << 1 if number >= 0 else (-number << 1) - 1)


def _write_size(out: bytearray, size: int) -> None:
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
