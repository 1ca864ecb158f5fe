"""The lexicon: every word of the corpus, numbered, with its counts in the training data."""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.column_words import ColumnWords, WordColumn
from leakscope.engine.spilled_array import SpilledArray
from leakscope.records.artifacts import damaged, parquet_groups
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.errors import LeakscopeError

LISTED = 1 << 22
"""Words up to which a lexicon is a list, which is faster; more are a column in a file."""
_BLOCK = 1 << 20  # words at a time
LEXICON_SCHEMA = pa.schema(
    [("id", pa.int32()), ("word", pa.large_string()), ("count", pa.int64()), ("users", pa.int64())]
)


@dataclass(frozen=True)
class Lexicon:
    """Words by id. Ids are ordered by training count (or user count), most first."""

    words: Sequence[str]
    counts: LongArray
    """[words] occurrences in the training documents; 0 for words seen in validation only."""
    users: LongArray
    """[words] distinct users of the training documents that use the word."""

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id by word."""
        return {word: id for id, word in enumerate(self.words)}

    @cached_property
    def digest(self) -> str:
        """A digest of the words in their order."""
        return words_digest(self.words)

    def spell(self, ids: IntArray) -> list[str]:
        """The words of these ids."""
        return [self.words[id] for id in ids.tolist()]

    @staticmethod
    def load(path: Path) -> "Lexicon":
        """Read `lexicon.parquet`; raise unless each row has its id, a word and possible counts. A
        large one goes into files without names in the system's temporary directory.
        """
        groups = _checked_groups(path)
        held, size = [], 0
        for group in groups:
            held.append(group)
            size += len(group)
            if size > LISTED:
                return _in_files(held, groups)
        table = pa.concat_tables(held) if held else LEXICON_SCHEMA.empty_table()
        counts, users = (table[name].to_numpy() for name in ("count", "users"))
        return Lexicon(table["word"].to_pylist(), counts, users)


def _checked_groups(path: Path) -> Iterator[pa.Table]:
    """The rows of a lexicon, some at a time."""
    done = 0
    for group in parquet_groups(path):
        try:
            table = group.select(LEXICON_SCHEMA.names).cast(LEXICON_SCHEMA)
            table["word"].validate(full=True)
            ids, counts, users = (
                table[name].combine_chunks().to_numpy(zero_copy_only=True)
                for name in ("id", "count", "users")
            )
        except (pa.ArrowException, KeyError, UnicodeDecodeError):
            raise damaged(path) from None
        possible = (users >= 0) & (users <= counts)
        in_order = np.array_equal(ids, np.arange(done, done + len(ids)))
        if not in_order or not possible.all() or table["word"].null_count:
            raise LeakscopeError(
                f"{path} has words out of order or impossible counts; build the corpus again."
            )
        done += len(ids)
        yield table


def _in_files(held: list[pa.Table], others: Iterator[pa.Table]) -> Lexicon:
    """A lexicon whose arrays the system can take from memory."""
    scratch = Path(tempfile.gettempdir())
    words = WordColumn(scratch)
    counts, users = (SpilledArray(scratch, np.int64) for _ in range(2))
    while held:
        _append(held.pop(0), words, counts, users)
    for table in others:
        _append(table, words, counts, users)
    return Lexicon(ColumnWords(words.mapped()), counts.mapped(), users.mapped())


def _append(table: pa.Table, words: WordColumn, counts: SpilledArray, users: SpilledArray) -> None:
    for chunk in table["word"].chunks:
        words.append(chunk)
    counts.append(table["count"].to_numpy())
    users.append(table["users"].to_numpy())


def lexicon_table(
    words: pa.LargeStringArray, counts: LongArray, users: LongArray, first: int = 0
) -> pa.Table:
    """Rows of `lexicon.parquet`, in the order of the ids, which begin with `first`."""
    ids = pa.array(np.arange(first, first + len(words), dtype=np.int32))
    return pa.table([ids, words, pa.array(counts), pa.array(users)], LEXICON_SCHEMA)


class WordsDigest:
    """A digest of a list of words; no word has white space, so one word per line is unambiguous."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)
        self._begun = False

    def update(self, words: Sequence[str]) -> None:
        """Some more words."""
        if words:
            self._digest.update(("\n" * self._begun + "\n".join(words)).encode())
            self._begun = True

    def hexdigest(self) -> str:
        """Of all words so far."""
        return self._digest.hexdigest()


def words_digest(words: Sequence[str]) -> str:
    """The digest of a list of words."""
    digest = WordsDigest()
    for start in range(0, len(words), _BLOCK):
        digest.update(words[start : start + _BLOCK])
    return digest.hexdigest()
