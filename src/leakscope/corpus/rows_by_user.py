"""Bring the rows of each user together without holding the corpus in memory.

Users are ordered by a hash of their key, which depends neither on the order of the input nor
on the number of shards. Rows are spilled into buckets by the hash's leading bits; a bucket
that is still too large is spilled again by the next bits.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from leakscope.records.artifacts import private_directory

BITS = 6
_SCHEMA = pa.schema(
    [
        ("hash", pa.uint64()),
        ("user", pa.large_string()),
        ("text", pa.large_string()),
        ("split", pa.string()),
        ("input", pa.int32()),
        ("row", pa.int64()),
    ]
)


class HashedRow(NamedTuple):
    """One document: the hash of its user's key, the key, the text, its split if that is already
    decided, and its origin if that is known.
    """

    hash: int
    user: str
    text: str
    split: str | None = None
    input: int | None = None
    row: int | None = None


@lru_cache(1 << 14)  # a user's rows are many, and often together
def user_hash(user: str) -> int:
    """The 64-bit hash that orders users."""
    return int.from_bytes(hashlib.blake2b(user.encode(), digest_size=8).digest(), "big")


class _Bucket:
    """Rows whose hashes share some leading bits, in one Arrow stream file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.low, self.high = 1 << 64, -1
        self._rows: list[HashedRow] = []
        self._waiting = 0
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, row: HashedRow, limit: int) -> None:
        cost = 2 * len(row.text) + len(row.user) + 112
        self.size += cost
        self._waiting += cost
        self.low, self.high = min(self.low, row.hash), max(self.high, row.hash)
        self._rows.append(row)
        if self._waiting > limit:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self.path.touch(mode=0o600)  # before there is text in it
            self._writer = pa.ipc.new_stream(self.path, _SCHEMA)
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*self._rows, strict=True), _SCHEMA, strict=True)
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        self._rows, self._waiting = [], 0

    def close(self) -> None:
        self.flush()
        if self._writer is not None:
            self._writer.close()

    def rows(self) -> Iterator[HashedRow]:
        """The rows, in the order in which they were added."""
        if not self.path.exists():
            return
        with pa.ipc.open_stream(pa.memory_map(str(self.path))) as stream:
            for batch in stream:
                yield from map(HashedRow, *(column.to_pylist() for column in batch.columns))


def in_user_order(
    rows: Iterable[HashedRow], folder: Path, *, memory: int = 256 << 20, depth: int = 0
) -> Iterator[HashedRow]:
    """The rows sorted by (hash, user), each user's in the order of the input.

    Uses about `memory` bytes at most; everything else waits in files under `folder`.
    """
    private_directory(folder)
    shift = 64 - BITS * (depth + 1)
    buckets = [_Bucket(folder / f"{number:02d}.arrows") for number in range(1 << BITS)]
    for row in rows:
        buckets[(row.hash >> shift) & ((1 << BITS) - 1)].add(row, memory >> (BITS + 1))
    for bucket in buckets:
        bucket.close()
    for bucket in buckets:
        if bucket.size <= memory:
            yield from sorted(bucket.rows(), key=lambda row: (row.hash, row.user))
        elif bucket.low == bucket.high or shift < BITS:
            # One user (or one hash, which 64 bits make one user) larger than memory: the rows
            # are together already.
            yield from bucket.rows()
        else:
            inner = folder / f"{bucket.path.stem}.d"
            yield from in_user_order(bucket.rows(), inner, memory=memory, depth=depth + 1)
        bucket.path.unlink(missing_ok=True)
