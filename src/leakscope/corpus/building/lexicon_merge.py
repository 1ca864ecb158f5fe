"""The lexicons of all parts as one, and the lasting number of each word."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.build_settings import LexiconOrder
from leakscope.corpus.building.number_stage import lexicon_part
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.building.word_table import WordTable
from leakscope.corpus.lexicon import lexicon_table
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.row_columns import flat
from leakscope.records.artifacts import write_parquet
from leakscope.records.documents import IntArray, LongArray

_HASHED = 1 << 20  # words at a time


class MergedLexicon(NamedTuple):
    """All words of the corpus."""

    size: int
    digest: str
    """As `Lexicon.digest`."""
    final: list[IntArray]
    """For each part, the lasting number of each word of its own lexicon."""


def merge_lexicons(
    parts: Sequence[Path], pieces: Sequence[UserPiece], order: LexiconOrder, target: Path
) -> MergedLexicon:
    """Write the lexicon of all parts, whose users are those of `pieces`, to `target`."""
    table = WordTable()
    counts, users, last = (np.zeros(0, np.int64) for _ in range(3))
    numbers: list[IntArray] = []
    for path, piece in zip(parts, pieces, strict=True):
        with opened_part(lexicon_part(path)) as ((batch, _),):
            found = table.number(*flat(batch["word"]))
            more, owners = batch["count"].to_numpy(), batch["users"].to_numpy().copy()
            counts, users = _grown(counts, len(table), 0), _grown(users, len(table), 0)
            counts[found] += more
            if piece.giant is not None:  # one user in several parts
                last = _grown(last, len(table), -1)
                owners[last[found] == piece.giant] = 0
                last[found[owners > 0]] = piece.giant
            users[found] += owners
            numbers.append(found.astype(np.int32))
            del batch
    size = len(table)
    del last
    # A lexicon may be most of the memory that a build takes: each copy goes before the next comes.
    ranking = _ranking(table.finished(), counts[:size], users[:size], order)
    counts = counts[ranking]
    users = users[ranking]
    words = table.words().take(pa.array(ranking)).cast(pa.large_string())
    del table
    write_parquet(target, lexicon_table(words, counts, users))
    del counts, users
    final = np.empty(size, np.int32)
    final[ranking] = np.arange(size, dtype=np.int32)
    return MergedLexicon(size, _digest(words), [final[each] for each in numbers])


def _ranking(
    words: pa.LargeBinaryArray, counts: LongArray, users: LongArray, order: LexiconOrder
) -> LongArray:
    """The numbers of the words, most frequent first, or with the most users first; then by the
    other one, then by code points.
    """
    first, second = (users, counts) if order == "users" else (counts, users)
    keys = pa.table({"first": first, "second": second, "word": words})
    ranking = pc.sort_indices(
        keys, [("first", "descending"), ("second", "descending"), ("word", "ascending")]
    )
    found: LongArray = ranking.to_numpy()
    return found


def _digest(words: pa.LargeStringArray) -> str:
    """See `words_digest`: one word a line."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, len(words), _HASHED):
        lines = "\n".join(words.slice(start, _HASHED).to_pylist())
        digest.update(("\n" if start else "").encode() + lines.encode())
    return digest.hexdigest()


def _grown(values: LongArray, size: int, fill: int) -> LongArray:
    """At least `size` values."""
    if len(values) >= size:
        return values
    larger = np.full(max(size, len(values) * 3 // 2), fill, np.int64)
    larger[: len(values)] = values
    return larger
