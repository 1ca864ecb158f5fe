"""Reading rows from bytes, compiled: JSON lines, and what a text is made of.

Whatever these kernels are not sure of they leave to Python's own reader, line by line.
"""

from typing import Any

import numpy as np

from leakscope.engine.compiled import compiled

_SPACE = 8  # see `character_classes`
_QUOTE, _BACKSLASH, _NEWLINE, _COLON, _COMMA = 0x22, 0x5C, 0x0A, 0x3A, 0x2C
_OPEN, _CLOSE, _MINUS, _ZERO = 0x7B, 0x7D, 0x2D, 0x30
_MOST_DIGITS = 400
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
UNSURE = -1
"""A line that Python has to read; a value that it has to judge."""
ABSENT = -2
"""A value that is null or not there."""


@compiled()
def _wide(data: Any, at: int, end: int) -> int:
    """The size of the character of several bytes at a place; 0: it is no valid UTF-8."""
    first = int(data[at])
    if first < 0xC2 or first > 0xF4:
        return 0
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + size > end:
        return 0
    second = int(data[at + 1])
    low, high = 0x80, 0xBF
    if first == 0xE0:
        low = 0xA0
    elif first == 0xED:
        high = 0x9F
    elif first == 0xF0:
        low = 0x90
    elif first == 0xF4:
        high = 0x8F
    if second < low or second > high:
        return 0
    for place in range(at + 2, at + size):
        if data[place] & 0xC0 != 0x80:
            return 0
    return size


@compiled()
def measure(data: Any, offsets: Any, classes: Any, characters: Any, blank: Any) -> None:
    """For each value its number of characters, `UNSURE` if it is no valid UTF-8, and whether it is
    nothing but white space.
    """
    for row in range(len(offsets) - 1):
        at, end, count, only_space = offsets[row], offsets[row + 1], 0, True
        while at < end:
            first = int(data[at])
            point, size = first, 1
            if first >= 0x80:
                size = _wide(data, at, end)
                if size == 0:
                    count = UNSURE
                    break
                point = first & (0xFF >> (size + 1))
                for place in range(at + 1, at + size):
                    point = point << 6 | int(data[place]) & 0x3F
            if only_space and not classes[point] & _SPACE:
                only_space = False
            at += size
            count += 1
        characters[row] = count
        blank[row] = only_space


@compiled()
def _hex(data: Any, at: int, end: int) -> int:
    """The number that four hexadecimal digits make; below 0: they are not."""
    if at + 4 > end:
        return -1
    value = 0
    for place in range(at, at + 4):
        digit = int(data[place])
        if 0x30 <= digit <= 0x39:
            digit -= 0x30
        elif 0x41 <= digit | 0x20 <= 0x66 and digit | 0x20 >= 0x61:
            digit = (digit | 0x20) - 0x57
        else:
            return -1
        value = value << 4 | digit
    return value


@compiled()
def _put(point: int, into: Any, size: int) -> int:
    """Write a character as UTF-8 and give the size after it."""
    if point < 0x80:
        into[size] = point
        return size + 1
    if point < 0x800:
        into[size], into[size + 1] = 0xC0 | point >> 6, 0x80 | point & 0x3F
        return size + 2
    if point < 0x10000:
        into[size], into[size + 1] = 0xE0 | point >> 12, 0x80 | point >> 6 & 0x3F
        into[size + 2] = 0x80 | point & 0x3F
        return size + 3
    into[size], into[size + 1] = 0xF0 | point >> 18, 0x80 | point >> 12 & 0x3F
    into[size + 2], into[size + 3] = 0x80 | point >> 6 & 0x3F, 0x80 | point & 0x3F
    return size + 4


@compiled()
def _string(  # noqa: PLR0911, PLR0912
    data: Any, at: int, end: int, into: Any, size: int, done: Any
) -> int:
    """Decode the JSON string whose first character is at `at` into `into` from `size` on; gives
    where it ends there and puts what follows its quote into `done[0]`. Below 0: unsure.
    """
    while at < end:
        first = int(data[at])
        if first == _QUOTE:
            done[0] = at + 1
            return size
        if first < 0x20:
            return UNSURE
        if first >= 0x80:
            wide = _wide(data, at, end)
            if wide == 0:
                return UNSURE
            for place in range(wide):
                into[size + place] = data[at + place]
            size += wide
            at += wide
        elif first != _BACKSLASH:
            into[size] = first
            size += 1
            at += 1
        else:
            if at + 1 >= end:
                return UNSURE
            mark = int(data[at + 1])
            at += 2
            point = mark
            if mark == 0x6E:
                point = 0x0A
            elif mark == 0x74:
                point = 0x09
            elif mark == 0x72:
                point = 0x0D
            elif mark == 0x62:
                point = 0x08
            elif mark == 0x66:
                point = 0x0C
            elif mark == 0x75:
                point = _hex(data, at, end)
                at += 4
                if 0xD800 <= point < 0xDC00:
                    if at + 6 > end or data[at] != _BACKSLASH or data[at + 1] != 0x75:
                        return UNSURE
                    low = _hex(data, at + 2, end)
                    if low < 0xDC00 or low > 0xDFFF:
                        return UNSURE
                    point = 0x10000 + (point - 0xD800 << 10) + (low - 0xDC00)
                    at += 6
                elif point < 0 or 0xDC00 <= point < 0xE000:
                    return UNSURE
            elif mark not in (_QUOTE, _BACKSLASH, 0x2F):
                return UNSURE
            size = _put(point, into, size)
    return UNSURE


@compiled()
def _blanks(data: Any, at: int, end: int) -> int:
    while at < end and (data[at] == 0x20 or data[at] == 0x09 or data[at] == 0x0D):
        at += 1
    return at


@compiled()
def _is_at(data: Any, start: int, end: int, name: Any) -> bool:
    if end - start != len(name):
        return False
    same = True
    for place in range(len(name)):
        same &= data[start + place] == name[place]
    return same


@compiled()
def _plain_value(data: Any, at: int, end: int) -> int:
    """Where a number, true, false or null ends that begins here; below 0: unsure."""
    begin = at
    while at < end and (
        0x30 <= data[at] <= 0x39 or 0x61 <= data[at] <= 0x7A or data[at] in (0x2B, 0x2D, 0x2E, 0x45)
    ):
        at += 1
    if (
        _is_at(data, begin, at, _TRUE)
        or _is_at(data, begin, at, _FALSE)
        or _is_at(data, begin, at, _NULL)
    ):
        return at
    size = at - begin
    # Of numbers, only whole ones without a sign; Python reads the others.
    if size == 0 or size > _MOST_DIGITS or (data[begin] == _ZERO and size > 1):
        return UNSURE
    for place in range(begin, at):
        if data[place] < _ZERO or data[place] > 0x39:
            return UNSURE
    return at


@compiled()
def _object(  # noqa: PLR0911, PLR0912
    data: Any, at: int, end: int, names: Any, into: Any, size: int, found: Any
) -> int:
    """Read the flat JSON object of a line. `found` [names, 2] gets where the string of each name
    begins and ends in `into`, `ABSENT` where it is null or missing. Gives where `into` is used up
    to; below 0: unsure.
    """
    done = np.zeros(1, np.int64)
    found[:] = ABSENT
    seen = 0
    at = _blanks(data, at, end)
    if at >= end or data[at] != _OPEN:
        return UNSURE
    at = _blanks(data, at + 1, end)
    if at < end and data[at] == _CLOSE:
        return size if _blanks(data, at + 1, end) == end else UNSURE
    while True:
        if at >= end or data[at] != _QUOTE:
            return UNSURE
        after = _string(data, at + 1, end, into, size, done)
        if after < 0:
            return UNSURE
        wanted = -1
        for number in range(len(names)):
            if _is_at(into, size, after, names[number]):
                wanted = number
        at = _blanks(data, done[0], end)
        if at >= end or data[at] != _COLON:
            return UNSURE
        at = _blanks(data, at + 1, end)
        if at >= end:
            return UNSURE
        if wanted >= 0:
            if seen >> wanted & 1:
                return UNSURE
            seen |= 1 << wanted
        if data[at] == _QUOTE:
            after = _string(data, at + 1, end, into, size, done)
            if after < 0:
                return UNSURE
            at = done[0]
            if wanted >= 0:
                found[wanted, 0], found[wanted, 1] = size, after
                size = after
        else:
            after = _plain_value(data, at, end)
            if after < 0 or (wanted >= 0 and data[at] != 0x6E):
                return UNSURE
            at = after
        at = _blanks(data, at, end)
        if at >= end:
            return UNSURE
        if data[at] == _CLOSE:
            return size if _blanks(data, at + 1, end) == end else UNSURE
        if data[at] != _COMMA:
            return UNSURE
        at = _blanks(data, at + 1, end)


@compiled()
def json_lines(data: Any, names: Any, into: Any, places: Any, lines: Any) -> int:
    """Read whole lines; gives how many of them are not blank.

    `lines` [most, 2] gets where each of these begins and ends, and `places` [most, names, 2] where
    its strings are in `into`; its first number is `UNSURE` for a line that Python has to read.
    """
    start, count, size = 0, 0, 0
    while start < len(data):
        end, blank = start, True
        while end < len(data) and data[end] != _NEWLINE:
            if blank and not (data[end] == 0x20 or 0x09 <= data[end] <= 0x0D):
                blank = False
            end += 1
        if not blank:
            lines[count, 0], lines[count, 1] = start, end
            after = _object(data, start, end, names, into, size, places[count])
            if after < 0:
                places[count, 0, 0] = UNSURE
            else:
                size = after
            count += 1
        start = end + 1
    return count
