"""The builder as it was before it was compiled: row by row, in Python, on one core. `building`
compares the speed and the files of both.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.input_files import describe
from leakscope.corpus.lexicon import Lexicon, lexicon_table
from leakscope.corpus.parts.python_rows import row_problem
from leakscope.corpus.readers.detect import read_all
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import EMPTY_TEXT, Row
from leakscope.corpus.shard_schema import GROUP_CHARACTERS, GROUP_DOCUMENTS, SCHEMA
from leakscope.corpus.split import TRAIN, VALIDATION, in_validation, split_named
from leakscope.corpus.words import words
from leakscope.records.artifacts import (
    digest_of_file,
    open_parquet,
    parquet_sink,
    private_directory,
    write_parquet,
)
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of


def earlier_build(source: Path, out: Path, settings: BuildSettings) -> str:
    """Write lexicon and shards, as then; the digest of the corpus."""
    describe(source, None)
    building = private_directory(out / ".building")
    aside: Counter[str] = Counter()
    rows = _usable(read_all([source], InputSettings()), settings, aside)
    digest, lexicon, documents = hashlib.blake2b(digest_size=16), LexiconBuilder(), 0
    with ShardWriter(building, settings.shard_words, lexicon) as writer:
        together = in_user_order(rows, building / "spill")
        for number, (user, spilled) in enumerate(groupby(together, key=lambda row: row.user)):
            for document in _documents(number, user, spilled, settings, lexicon, documents):
                for part in (document.user_key, document.split, document.text):
                    data = part.encode()
                    digest.update(b"%d:" % len(data) + data)
                writer.add(document)
                documents += 1
            writer.close_user()
    finished, final = lexicon.finish(settings.order)
    table = pa.array(finished.words, pa.large_string())
    write_parquet(out / "lexicon.parquet", lexicon_table(table, finished.counts, finished.users))
    shards = private_directory(out / "shards")
    for index, provisional in enumerate(writer.paths):
        renumber(provisional, shards / f"{index:05d}.parquet", final)
        digest_of_file(shards / f"{index:05d}.parquet")  # for the seal
    return digest.hexdigest()


def _usable(
    rows: Iterable[Row], settings: BuildSettings, aside: Counter[str]
) -> Iterator["HashedRow"]:
    for row in rows:
        problem = row.problem or row_problem(row, settings)
        if problem is not None or row.user is None or row.text is None:
            aside[problem or EMPTY_TEXT] += 1
        else:
            part = None if row.split is None else split_named(row.split)
            origin = row.origin or (None, None)
            yield HashedRow(user_hash(row.user), row.user, row.text, part, *origin)


def _documents(
    number: int,
    user: str,
    rows: Iterable["HashedRow"],
    settings: BuildSettings,
    lexicon: "LexiconBuilder",
    first: int,
) -> Iterator["StoredDocument"]:
    numbering = lexicon.numbering
    for index, row in enumerate(rows):
        held = in_validation(settings.validation, settings.split_by, settings.seed, user, index)
        found = words(row.text, lowercase=settings.lowercase)
        yield StoredDocument(
            user=number,
            user_key=user,
            document=first + index,
            split=row.split or (VALIDATION if held else TRAIN),
            ids=np.array([numbering[word] for word in found], np.int32),
            text=row.text,
            input=row.input,
            row=row.row,
        )


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


class _Numbering(dict[str, int]):
    """Numbers words in the order in which they are first asked for."""

    def __missing__(self, word: str) -> int:
        number = len(self)
        self[word] = number
        return number


class LexiconBuilder:
    """Numbers words provisionally while documents stream by in user order, and counts them.

    Memory grows only with the number of distinct words.
    """

    def __init__(self) -> None:
        self.numbering = _Numbering()
        self._counts = np.zeros(1024, np.int64)
        self._users = np.zeros(1024, np.int64)
        self._last_user = np.full(1024, -1, np.int64)

    def count(self, users: LongArray, ids: LongArray) -> None:
        """Count training words `ids` [w] said by `users` [w]; users never decrease over calls."""
        self._grow()
        self._counts += np.bincount(ids, minlength=len(self._counts))
        pairs = np.unique((users << 32) | ids)
        who, what = pairs >> 32, pairs & 0xFFFFFFFF
        new = self._last_user[what] != who
        self._users += np.bincount(what[new], minlength=len(self._users))
        self._last_user[what] = who  # sorted by user, so the last user of each word stays

    def finish(self, order: str) -> tuple[Lexicon, IntArray]:
        """The lexicon, and the final id of each provisional one."""
        self._grow()
        known = list(self.numbering)
        size = len(known)
        counts, users = self._counts[:size], self._users[:size]
        first, second = (users, counts) if order == "users" else (counts, users)
        by_word = np.array(sorted(range(size), key=known.__getitem__), np.int64)
        # Stable sorts: by word, then the second key, then the first.
        ranking = by_word[np.argsort(-second[by_word], kind="stable")]
        ranking = ranking[np.argsort(-first[ranking], kind="stable")]
        final = np.empty(size, np.int32)
        final[ranking] = np.arange(size, dtype=np.int32)
        lexicon = Lexicon([known[i] for i in ranking.tolist()], counts[ranking], users[ranking])
        return lexicon, final

    def _grow(self) -> None:
        missing = len(self.numbering) - len(self._counts)
        if missing > 0:
            pad = max(missing, len(self._counts))
            self._counts = np.pad(self._counts, (0, pad))
            self._users = np.pad(self._users, (0, pad))
            self._last_user = np.pad(self._last_user, (0, pad), constant_values=-1)


class StoredDocument(NamedTuple):
    """One row of a shard."""

    user: int
    user_key: str
    document: int
    split: str
    ids: IntArray
    text: str
    input: int | None
    row: int | None


class ShardWriter:
    """Writes provisional shards, and counts the training words as they pass."""

    def __init__(self, folder: Path, shard_words: int, lexicon: LexiconBuilder) -> None:
        self.paths: list[Path] = []
        self._folder = folder
        self._limit = shard_words
        self._lexicon = lexicon
        self._rows: list[StoredDocument] = []
        self._characters = 0
        self._words = 0
        self._stack = ExitStack()
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._close_shard()
        else:
            self._stack.__exit__(kind, error, trace)

    def add(self, document: StoredDocument) -> None:
        """Take the next document."""
        self._rows.append(document)
        self._characters += len(document.text)
        self._words += len(document.ids)
        if len(self._rows) >= GROUP_DOCUMENTS or self._characters >= GROUP_CHARACTERS:
            self._flush()

    def close_user(self) -> None:
        """The user is complete, so a shard may end here."""
        if self._words >= self._limit:
            self._close_shard()

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            path = self._folder / f"provisional-{len(self.paths):05d}.parquet"
            self.paths.append(path)
            self._writer = self._stack.enter_context(parquet_sink(path, SCHEMA))
        training = [row for row in self._rows if row.split == TRAIN]
        if training:
            lengths = [len(row.ids) for row in training]
            users = np.repeat(np.array([row.user for row in training], np.int64), lengths)
            ids = np.concatenate([row.ids for row in training]).astype(np.int64)
            self._lexicon.count(users, ids)
        self._writer.write_batch(_batch(self._rows))
        self._rows, self._characters = [], 0

    def _close_shard(self) -> None:
        self._flush()
        self._stack.close()
        self._writer, self._words = None, 0


def _batch(rows: list[StoredDocument]) -> pa.RecordBatch:
    columns = dict(zip(StoredDocument._fields, zip(*rows, strict=True), strict=True))
    offsets = offsets_of(np.array([len(ids) for ids in columns["ids"]]))
    lists = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(np.concatenate(columns["ids"]), pa.int32())
    )
    columns["ids"] = lists
    return pa.record_batch(
        [
            pa.array(column, field.type) if column is not lists else lists
            for column, field in zip(columns.values(), SCHEMA, strict=True)
        ],
        schema=SCHEMA,
    )


def renumber(source: Path, target: Path, final: IntArray) -> None:
    """Copy a provisional shard with each word id `i` replaced by `final[i]`."""
    reader = open_parquet(source)
    with parquet_sink(target, SCHEMA) as writer:
        for group in range(reader.num_row_groups):
            table = reader.read_row_group(group)
            lists = table["words"].combine_chunks()
            ids = pa.array(final[lists.flatten().to_numpy(zero_copy_only=False)], pa.int32())
            renumbered = pa.ListArray.from_arrays(lists.offsets, ids)
            column = table.schema.get_field_index("words")
            writer.write_table(table.set_column(column, SCHEMA.field("words"), renumbered))
    source.unlink()
