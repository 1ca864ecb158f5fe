"""Cutting documents into row groups and shards, and laying them out for the digest, compiled."""

from typing import Any

import numpy as np

from leakscope.corpus.shard_schema import GROUP_CHARACTERS, GROUP_DOCUMENTS
from leakscope.engine.compiled import compiled

GROUP, SHARD = 1, 2
"""What ends with a document: a row group, or a shard and its last row group."""


@compiled()
def cut_documents(
    words: Any, characters: Any, owners: Any, goes_on: Any, shard_words: int, state: Any, ends: Any
) -> None:
    """Say in `ends` what ends with each document. `state` is [words of the shard, documents and
    characters of the row group] so far; `goes_on`: the last user has documents after these.
    """
    for document in range(len(words)):
        state[0] += words[document]
        state[1] += 1
        state[2] += characters[document]
        if state[1] >= GROUP_DOCUMENTS or state[2] >= GROUP_CHARACTERS:
            ends[document] = GROUP
            state[1], state[2] = 0, 0
        last = (
            not goes_on if document == len(words) - 1 else owners[document + 1] != owners[document]
        )
        if last and state[0] >= shard_words:
            ends[document] = SHARD
            state[:] = 0


@compiled()
def _framed(data: Any, start: int, end: int, into: Any, size: int) -> int:
    """The length in decimal digits, a colon and the bytes."""
    length = end - start
    digits = 1
    power = 10
    while length >= power:
        digits += 1
        power *= 10
    for place in range(digits):
        into[size + digits - 1 - place] = 0x30 + length % 10
        length //= 10
    size += digits
    into[size] = 0x3A
    size += 1
    into[size : size + end - start] = data[start:end]
    return size + end - start


@compiled()
def framed_documents(
    keys: Any, key_places: Any, split: Any, names: Any, text: Any, text_places: Any
) -> Any:
    """User key, split and text of documents as the digest of a corpus takes them."""
    most = key_places[-1] - key_places[0] + text_places[-1] - text_places[0]
    into = np.empty(most + len(split) * 96, np.uint8)
    size = 0
    for document in range(len(split)):
        name = names[split[document]]
        size = _framed(keys, key_places[document], key_places[document + 1], into, size)
        size = _framed(name, 0, len(name), into, size)
        size = _framed(text, text_places[document], text_places[document + 1], into, size)
    return into[:size]
