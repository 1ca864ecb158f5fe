"""Which documents are held out, compiled: `in_validation` of many documents at once.

A draw is a BLAKE2b hash of a few bytes (RFC 7693), and a call of hashlib for each document would
take as long as splitting it into words.
"""

from typing import Any

import numpy as np

from leakscope.engine.compiled import compiled

_BLOCK = 128
_START = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    np.uint64,
)  # fmt: skip
_ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    np.int64,
)
_LANES = np.array(
    [
        [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
        [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
    ],
    np.int64,
)  # fmt: skip


@compiled()
def _turned(value: Any, bits: int) -> Any:
    return value >> np.uint64(bits) | value << np.uint64(64 - bits)


@compiled()
def _compress(state: Any, block: Any, count: int, last: bool) -> None:
    """Take in one block; `count` bytes were taken in with it."""
    message = np.zeros(16, np.uint64)
    for place in range(_BLOCK):
        message[place >> 3] |= np.uint64(block[place]) << np.uint64(8 * (place & 7))
    work = np.empty(16, np.uint64)
    work[:8], work[8:] = state, _START
    work[12] ^= np.uint64(count)
    if last:
        work[14] = ~work[14]
    for turn in range(12):
        order = _ORDER[turn % 10]
        for lane in range(8):
            a, b, c, d = _LANES[lane]
            work[a] += work[b] + message[order[2 * lane]]
            work[d] = _turned(work[d] ^ work[a], 32)
            work[c] += work[d]
            work[b] = _turned(work[b] ^ work[c], 24)
            work[a] += work[b] + message[order[2 * lane + 1]]
            work[d] = _turned(work[d] ^ work[a], 16)
            work[c] += work[d]
            work[b] = _turned(work[b] ^ work[c], 63)
    for place in range(8):
        state[place] ^= work[place] ^ work[place + 8]


@compiled()
def hash_of(data: Any, size: int) -> Any:
    """The BLAKE2b hash of `size` bytes, 8 bytes long, as a number with its first byte highest."""
    state = _START.copy()
    state[0] ^= np.uint64(0x01010000 ^ 8)
    block = np.zeros(_BLOCK, np.uint8)
    at = 0
    while size - at > _BLOCK:
        _compress(state, data[at : at + _BLOCK], at + _BLOCK, False)
        at += _BLOCK
    block[: size - at] = data[at:size]
    _compress(state, block, size, True)
    found = np.uint64(0)
    for place in range(8):
        byte = state[0] >> np.uint64(8 * place) & np.uint64(0xFF)
        found = found << np.uint64(8) | byte
    return found


@compiled()
def draws(head: Any, keys: Any, places: Any, indices: Any, into: Any) -> None:
    """For each document the hash of the head ("seed" and a zero byte), its user's key, a zero byte
    and its index among that user's documents; without an index below 0.
    """
    buffer = np.empty(_BLOCK, np.uint8)
    for document in range(len(indices)):
        key = places[document + 1] - places[document]
        if len(head) + key + 32 > len(buffer):
            buffer = np.empty(len(head) + key + 32, np.uint8)
        size = len(head) + key
        buffer[: len(head)] = head
        buffer[len(head) : size] = keys[places[document] : places[document + 1]]
        buffer[size] = 0
        size += 1
        rest = indices[document]
        if rest >= 0:
            digits, power = 1, 10
            while rest >= power:
                digits += 1
                power *= 10
            for place in range(digits):
                buffer[size + digits - 1 - place] = 0x30 + rest % 10
                rest //= 10
            size += digits
        into[document] = hash_of(buffer, size)
