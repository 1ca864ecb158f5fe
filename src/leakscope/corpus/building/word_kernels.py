"""Splitting UTF-8 text into words and numbering them, compiled.

The words are those of `leakscope.corpus.words`, and the tests hold them to it. A word is looked up
in a hash table with open addressing whose keys are the bytes of the words: whatever a hash says,
the bytes decide.
"""

from typing import Any

import numpy as np

from leakscope.engine.compiled import compiled

DONE, TYPES_FULL, ARENA_FULL, PENDING_TYPES_FULL, PENDING_ARENA_FULL, IDS_FULL = range(6)
"""Why `number_words` came back: what has to grow before it is called again."""
LONGEST_LOWERED = 4096
"""Bytes of a word up to which it is lower-cased here."""
_LETTER, _MARK, _JOINS, _SPACE, _RUN = 1, 2, 7, 8, 16  # see `character_classes`
_APOSTROPHE, _QUOTE = 0x27, 0x2019
_SHORT = 7  # bytes of a word that a slot has room for
_LONG = np.uint64(0xFF00000000000000)  # marks the key of a longer one


@compiled()
def _point(data: Any, at: int) -> Any:
    """The code point that begins at a place of valid UTF-8, times 8, plus its size in bytes."""
    first = int(data[at])
    if first < 0x80:
        return first << 3 | 1
    if first < 0xE0:
        return ((first & 0x1F) << 6 | (int(data[at + 1]) & 0x3F)) << 3 | 2
    if first < 0xF0:
        middle = (first & 0x0F) << 12 | (int(data[at + 1]) & 0x3F) << 6
        return (middle | (int(data[at + 2]) & 0x3F)) << 3 | 3
    high = (first & 0x07) << 18 | (int(data[at + 1]) & 0x3F) << 12
    low = (int(data[at + 2]) & 0x3F) << 6 | (int(data[at + 3]) & 0x3F)
    return (high | low) << 3 | 4


@compiled()
def _word_end(data: Any, start: int, end: int, classes: Any) -> Any:
    """Where the word ends that begins at `start`, which is no white space."""
    found = _point(data, start)
    kind, at = classes[found >> 3], start + (found & 7)
    if kind & _LETTER:
        while at < end:
            found = _point(data, at)
            point, after = found >> 3, at + (found & 7)
            if classes[point] & _JOINS:
                at = after
                continue
            if point not in (_APOSTROPHE, _QUOTE) or after >= end:
                return at
            found = _point(data, after)
            if not classes[found >> 3] & _LETTER:
                return at
            at = after + (found & 7)
        return at
    if kind & _RUN:
        while at < end and data[at] == data[start]:
            at += 1
        return at
    while at < end:
        found = _point(data, at)
        if not classes[found >> 3] & _MARK:
            break
        at += found & 7
    return at


@compiled()
def _lowered(data: Any, start: int, end: int, lower: Any, into: Any) -> int:
    """Write the lower case of a word and give its size; below 0: Python has to be asked."""
    if end - start > LONGEST_LOWERED:
        return -1
    size = 0
    while start < end:
        found = _point(data, start)
        start += found & 7
        point = lower[found >> 3]
        if point < 0:
            return -1
        if point < 0x80:
            into[size] = point
            size += 1
        elif point < 0x800:
            into[size], into[size + 1] = 0xC0 | point >> 6, 0x80 | point & 0x3F
            size += 2
        elif point < 0x10000:
            into[size], into[size + 1] = 0xE0 | point >> 12, 0x80 | point >> 6 & 0x3F
            into[size + 2] = 0x80 | point & 0x3F
            size += 3
        else:
            into[size], into[size + 1] = 0xF0 | point >> 18, 0x80 | point >> 12 & 0x3F
            into[size + 2], into[size + 3] = 0x80 | point >> 6 & 0x3F, 0x80 | point & 0x3F
            size += 4
    return size


@compiled()
def _key(data: Any, start: int, end: int, seed: Any) -> Any:
    """What a slot holds of a word: a short one's length and bytes, which are the word; for a longer
    one, a mark and most of its hash.
    """
    size = end - start
    mixed = seed
    part = np.uint64(0)
    while True:
        stop = min(start + 8, end)
        part = np.uint64(0)
        while start < stop:
            part = part << np.uint64(8) | np.uint64(data[start])
            start += 1
        if size <= _SHORT:
            return part | np.uint64(size) << np.uint64(56)
        mixed = (mixed ^ part) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        if start >= end:
            return mixed | _LONG


@compiled()
def _slot(key: Any, seed: Any, mask: Any) -> Any:
    mixed = (key ^ seed) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed >> np.uint64(20) & mask


@compiled()
def find(
    data: Any, start: int, end: int, seed: Any, slots: Any, arena: Any, starts: Any, size: Any
) -> int:
    """The number of a word, a new one if it has none; -1: too many types, -2: too many bytes.

    A slot is two numbers, a key and the number of a word plus 1. `starts` [types + 1] says where
    each word begins in `arena`; `size[0]` is how many there are.
    """
    key = _key(data, start, end, seed)
    mask = np.uint64((len(slots) >> 1) - 1)
    slot = _slot(key, seed, mask)
    length = end - start
    while slots[slot << np.uint64(1) | np.uint64(1)]:
        if slots[slot << np.uint64(1)] == key:
            number = int(slots[slot << np.uint64(1) | np.uint64(1)]) - 1
            if length <= _SHORT:
                return number
            low = starts[number]
            if starts[number + 1] - low == length:
                same = True
                for place in range(length):
                    if arena[low + place] != data[start + place]:
                        same = False
                        break
                if same:
                    return number
        slot = (slot + np.uint64(1)) & mask
    number = int(size[0])
    if 4 * (number + 1) > len(slots) or number + 1 >= len(starts):
        return -1
    low = starts[number]
    if low + length > len(arena):
        return -2
    for place in range(length):
        arena[low + place] = data[start + place]
    starts[number + 1] = low + length
    size[0] = number + 1
    slots[slot << np.uint64(1)] = key
    slots[slot << np.uint64(1) | np.uint64(1)] = number + 1
    return number


@compiled()
def refill(slots: Any, seed: Any, arena: Any, starts: Any, size: int) -> None:
    """Put all words into larger, empty slots."""
    mask = np.uint64((len(slots) >> 1) - 1)
    for number in range(size):
        key = _key(arena, starts[number], starts[number + 1], seed)
        slot = _slot(key, seed, mask)
        while slots[slot << np.uint64(1) | np.uint64(1)]:
            slot = (slot + np.uint64(1)) & mask
        slots[slot << np.uint64(1)] = key
        slots[slot << np.uint64(1) | np.uint64(1)] = number + 1


@compiled()
def number_all(
    data: Any, offsets: Any, seed: Any, slots: Any, arena: Any, starts: Any, size: Any, found: Any
) -> int:
    """Fill `found` with the numbers of words that lie one after the other in `data`; what this
    gives back is at which of them the table has to grow, or their number.
    """
    for place in range(len(offsets) - 1):
        number = find(data, offsets[place], offsets[place + 1], seed, slots, arena, starts, size)
        if number < 0:
            return place
        found[place] = number
    return len(offsets) - 1


@compiled()
def number_words(  # noqa: PLR0912
    data: Any, offsets: Any, tables: Any, table: Any, pending: Any, cursor: Any, ids: Any, ends: Any
) -> int:
    """Number the words of documents, from where `cursor` [document, byte, words] says.

    `ids` gets the words, and `ends[i]` where those of document i end. With `tables.lower`, a word
    whose lower case only Python knows goes into the table `pending` as it is, and stands in `ids`
    as -1 - its number there. `tables` is (classes, lower, whether to lower-case).
    """
    classes, lower, lowercase = tables
    seed, slots, arena, starts, size = table
    seed_2, slots_2, arena_2, starts_2, size_2 = pending
    into = np.empty(4 * LONGEST_LOWERED, np.uint8)
    mask, one = np.uint64((len(slots) >> 1) - 1), np.uint64(1)
    document, at, count = cursor[0], cursor[1], cursor[2]
    while document < len(offsets) - 1:
        end = offsets[document + 1]
        while at < end:
            found = _point(data, at)
            if classes[found >> 3] & _SPACE:
                at += found & 7
                continue
            if count >= len(ids):
                cursor[0], cursor[1], cursor[2] = document, at, count
                return IDS_FULL
            after = _word_end(data, at, end, classes)
            length = _lowered(data, at, after, lower, into) if lowercase else 0
            number = -1
            if length >= 0:
                # Short words that are known are looked up here: a call with so many arrays costs
                # more than that.
                key = _key(into, 0, length, seed) if lowercase else _key(data, at, after, seed)
                slot = _slot(key, seed, mask)
                while slots[slot << one | one]:
                    if slots[slot << one] == key:
                        if key < _LONG:
                            number = int(slots[slot << one | one]) - 1
                        break
                    slot = (slot + one) & mask
            if number < 0:
                if length < 0:
                    number = find(data, at, after, seed_2, slots_2, arena_2, starts_2, size_2)
                elif lowercase:
                    number = find(into, 0, length, seed, slots, arena, starts, size)
                else:
                    number = find(data, at, after, seed, slots, arena, starts, size)
            if number < 0:
                cursor[0], cursor[1], cursor[2] = document, at, count
                cursor[3] = max(after - at, length)
                plain = TYPES_FULL if number == -1 else ARENA_FULL
                return plain if length >= 0 else plain + 2
            ids[count] = number if length >= 0 else -1 - number
            count += 1
            at = after
        ends[document] = count
        document += 1
    cursor[0], cursor[1], cursor[2] = document, at, count
    return DONE


@compiled()
def count_words(
    ids: Any, offsets: Any, owners: Any, counted: Any, counts: Any, users: Any, last: Any
) -> None:
    """Add the words of the documents that are `counted` to `counts`, and to `users` each word of a
    user once; `owners` [documents] never decrease, and `last` holds each word's last one.
    """
    for document in range(len(offsets) - 1):
        if not counted[document]:
            continue
        owner = owners[document]
        for place in range(offsets[document], offsets[document + 1]):
            word = ids[place]
            counts[word] += 1
            if last[word] != owner:
                last[word] = owner
                users[word] += 1
