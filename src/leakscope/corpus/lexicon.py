"""The lexicon: every word of the corpus, numbered, with its counts in the training data."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.records.artifacts import damaged, read_parquet, write_parquet
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.errors import LeakscopeError


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

    def save(self, path: Path) -> None:
        """Write `lexicon.parquet`."""
        columns = {
            "id": pa.array(np.arange(len(self), dtype=np.int32)),
            "word": pa.array(self.words, pa.large_string()),
            "count": pa.array(self.counts),
            "users": pa.array(self.users),
        }
        write_parquet(path, pa.table(columns))

    @staticmethod
    def load(path: Path) -> "Lexicon":
        """Read `lexicon.parquet`; raise unless each row has its id, a word and possible counts."""
        table = read_parquet(path)
        try:
            ids, counts, users = (
                table[name].combine_chunks().to_numpy(zero_copy_only=True)
                for name in ("id", "count", "users")
            )
            lexicon = Lexicon(
                table["word"].to_pylist(), counts.astype(np.int64), users.astype(np.int64)
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


def words_digest(words: Sequence[str]) -> str:
    """A digest of a list of words; no word has white space, so one word per line is unambiguous."""
    return hashlib.blake2b("\n".join(words).encode(), digest_size=16).hexdigest()


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
