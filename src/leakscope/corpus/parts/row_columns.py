"""Rows as columns: those that can be used, sorted by user, and how many are set aside and why."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.corpus.parts.character_classes import character_tables
from leakscope.corpus.parts.giant_texts import LONGEST
from leakscope.corpus.parts.row_kernels import UNSURE, measure
from leakscope.corpus.readers.rows import (
    EMPTY_TEXT,
    INVALID_UTF8,
    NULL_USER,
    TOO_LONG,
    UNKNOWN_SPLIT,
)
from leakscope.corpus.split import TRAIN, VALIDATION, split_named
from leakscope.records.documents import BoolArray, LongArray

UNDECIDED = -1
SPLITS = (TRAIN, VALIDATION)
"""A split is its place here, or `UNDECIDED`."""
SCHEMA = pa.schema(
    [
        ("hash", pa.uint64()),
        ("user", pa.large_binary()),
        ("text", pa.large_binary()),
        ("split", pa.int8()),
        ("characters", pa.int64()),
        ("input", pa.int32()),
        ("row", pa.int64()),
    ]
)


@dataclass
class ReadTally:
    """What became of some rows."""

    records: int = 0
    """All, also those that were set aside."""
    aside: Counter[str] = field(default_factory=Counter)
    doubts: Counter[str] = field(default_factory=Counter)
    known: bool = True
    """Whether the doubts are; not so of rows from another corpus."""
    last: bool = False
    """Whether no rows come after these."""

    def note(self) -> dict[str, Any]:
        """As plain data."""
        return vars(self) | {"aside": dict(self.aside), "doubts": dict(self.doubts)}

    @staticmethod
    def of(note: dict[str, Any]) -> "ReadTally":
        """From plain data."""
        aside, doubts = Counter(note["aside"]), Counter(note["doubts"])
        return ReadTally(note["records"], aside, doubts, note["known"], note["last"])

    def add(self, other: "ReadTally") -> None:
        """Count the rows of another tally, too."""
        self.records += other.records
        self.aside.update(other.aside)
        self.doubts.update(other.doubts)
        self.known &= other.known


def flat(column: Any) -> tuple[npt.NDArray[np.uint8], LongArray]:
    """The bytes of a large binary column and where its values begin [n + 1], sharing memory."""
    _, offsets, data = column.buffers()
    size, start = len(column), column.offset
    if offsets is None or not size:
        return np.zeros(0, np.uint8), np.zeros(size + 1, np.int64)
    places = np.frombuffer(offsets, np.int64)[start : start + size + 1]
    return (np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)), places


def measured(column: Any) -> tuple[LongArray, BoolArray]:
    """[n] the number of characters of each value, below 0 if it is no valid UTF-8, and whether it
    is blank.
    """
    characters = np.zeros(len(column), np.int64)
    blank = np.zeros(len(column), np.bool_)
    measure(*flat(column), character_tables().classes, characters, blank)
    return characters, blank


def usable(
    users: Any,
    texts: Any,
    parts: npt.NDArray[np.int8] | None,
    numbers: LongArray,
    most: int,
    tally: ReadTally,
) -> pa.RecordBatch:
    """The rows that can be used, without hash and input; the others are counted in the tally.

    The columns are large binary, null where there is no value; `parts` are those that the input
    names, if it does. The order in which reasons are looked for is that of the readers, and then
    of `row_problem`.
    """
    characters, blank = measured(texts)
    user_size, blank_user = measured(users)
    no_user, no_text = (np.asarray(column.is_null()) for column in (users, texts))
    part = np.full(len(texts), UNDECIDED, np.int8) if parts is None else parts
    unknown = np.full(len(texts), parts is not None) & (part == UNDECIDED)
    left = np.ones(len(texts), np.bool_)
    for reason, found in (
        (INVALID_UTF8, (characters == UNSURE) | (user_size == UNSURE)),
        (NULL_USER, no_user | blank_user),
        (EMPTY_TEXT, no_text | blank),
        (TOO_LONG, (characters > most) | (np.diff(flat(texts)[1]) > LONGEST)),
        (UNKNOWN_SPLIT, unknown),
    ):
        hit = found & left
        if hit.any():
            tally.aside[reason] += int(hit.sum())
            left &= ~found
    kept = slice(None) if left.all() else np.flatnonzero(left)
    chosen = [
        column if isinstance(kept, slice) else column.take(pa.array(kept))
        for column in (users, texts)
    ]
    arrays = [chosen[0], chosen[1], part[kept], characters[kept], numbers[kept]]
    names = ["user", "text", "split", "characters", "row"]
    return pa.RecordBatch.from_arrays([pa.array(each) for each in arrays], names)


def parts_named(names: Any, encoding: str) -> npt.NDArray[np.int8]:
    """[n] the part that each value of a binary column names, `UNDECIDED` if it names none."""
    coded = names.fill_null(b"").dictionary_encode()
    named = [split_named(name.decode(encoding, "replace")) for name in coded.dictionary.to_pylist()]
    codes = [UNDECIDED if name is None else SPLITS.index(name) for name in named]
    found: npt.NDArray[np.int8] = np.array(codes, np.int8)[coded.indices.to_numpy()]
    return found


def user_hash(user: bytes) -> int:
    """The 64-bit hash that orders users: it depends neither on the order of the input nor on the
    number of shards.
    """
    return int.from_bytes(hashlib.blake2b(user, digest_size=8).digest(), "big")


def in_hash_order(rows: pa.RecordBatch, input: int | None = None) -> pa.RecordBatch:
    """Usable rows with their hashes, sorted by these, otherwise in their order; all from one
    `input`, unless they say themselves where they are from.
    """
    coded = rows["user"].dictionary_encode()
    hashes = np.array([user_hash(user) for user in coded.dictionary.to_pylist()], np.uint64)
    by_row = hashes[coded.indices.to_numpy()]
    order = np.argsort(by_row, kind="stable")
    columns = {name: rows[name] for name in rows.schema.names}
    if len(order) > 1:  # a single text may be huge
        columns = {name: column.take(pa.array(order)) for name, column in columns.items()}
    columns["hash"] = pa.array(by_row[order])
    if input is not None:
        columns["input"] = pa.array(np.full(len(order), input, np.int32))
    return pa.RecordBatch.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)
