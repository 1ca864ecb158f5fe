"""The lexicon: every word of the corpus, numbered, with its counts in the training data."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.column_words import ColumnWords
from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.errors import LeakscopeError

LISTED = 1 << 22
"""Words up to which a lexicon is a list, which is faster; more stay a column, which is smaller."""
_BLOCK = 1 << 20  # words at a time


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
        """Read `lexicon.parquet`; raise unless each row has its id, a word and possible counts."""
        table = read_parquet(path)
        try:
            ids, counts, users = (
                table[name].combine_chunks().to_numpy(zero_copy_only=True)
                for name in ("id", "count", "users")
            )
            column = table["word"]
            column.validate(full=True)
            words: Sequence[str] = (
                column.to_pylist() if len(ids) <= LISTED else ColumnWords(column.combine_chunks())
            )
            lexicon = Lexicon(
                words, counts.astype(np.int64, copy=False), users.astype(np.int64, copy=False)
            )
        except (pa.ArrowException, KeyError, UnicodeDecodeError):
            raise damaged(path) from None
        possible = (users >= 0) & (users <= counts)
        in_order = np.array_equal(ids, np.arange(len(ids)))
        if not in_order or not possible.all() or table["word"].null_count:
            raise LeakscopeError(
                f"{path} has words out of order or impossible counts; build the corpus again."
            )
        return lexicon


def lexicon_table(words: pa.LargeStringArray, counts: LongArray, users: LongArray) -> pa.Table:
    """What `lexicon.parquet` holds, in the order of the ids."""
    columns = {
        "id": pa.array(np.arange(len(words), dtype=np.int32)),
        "word": words,
        "count": pa.array(counts),
        "users": pa.array(users),
    }
    return pa.table(columns)


def words_digest(words: Sequence[str]) -> str:
    """A digest of a list of words; no word has white space, so one word per line is unambiguous."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, len(words), _BLOCK):
        digest.update(("\n" * bool(start) + "\n".join(words[start : start + _BLOCK])).encode())
    return digest.hexdigest()
