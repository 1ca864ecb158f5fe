"""Write `sequences.parquet`, `occurrences.parquet` and `users.parquet`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.leakage.scoring import read_occurrences
from leakscope.leakage.sequences import Contexts, Examples, Members, Sequences
from leakscope.leakage.trie import Trie
from leakscope.records.artifacts import parquet_sink, write_parquet
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.run import OCCURRENCES, SEQUENCES, USERS

ROWS = 50_000  # written at a time, which bounds the memory for spelled-out words


class Speller:
    """Spells ids out in words, many at a time."""

    def __init__(self, lexicon: Lexicon, trie: Trie, contexts: Contexts) -> None:
        self._words = pa.array(lexicon.words, pa.string())
        self._trie = trie
        self._contexts = contexts

    def sequences(self, nodes: IntArray) -> pa.ListArray:
        """The words of the nodes' sequences."""
        return self._lists(*self._trie.sequences(nodes))

    def contexts(self, low: int, high: int) -> pa.ListArray:
        """The words of the contexts of examples `low` to `high`."""
        offsets = self._contexts.offsets[low : high + 1]
        return self._lists(offsets - offsets[0], self._contexts.ids[offsets[0] : offsets[-1]])

    def _lists(self, offsets: LongArray, ids: IntArray) -> pa.ListArray:
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), self._words.take(ids))


def write_sequences(
    path: Path,
    members: Members,
    sequences: Sequences,
    chosen: Examples,
    listed: BoolArray,
    revealed: "Speller | None",
) -> None:
    """One row for each sequence that is `listed` [s]; words only if they are `revealed`."""
    with parquet_sink(path, SEQUENCES) as writer:
        for low in range(0, len(sequences), ROWS):
            rows = np.arange(low, min(low + ROWS, len(sequences)))
            begins, ends = chosen.offsets[rows[0]], chosen.offsets[rows[-1] + 1]
            examples = chosen.members[begins:ends]
            offsets = pa.array(chosen.offsets[rows[0] : rows[-1] + 2] - begins, pa.int32())
            columns = {
                "id": pa.array(rows, pa.int32()),
                "sequence": pa.nulls(len(rows), SEQUENCES.field("sequence").type),
                "length": sequences.lengths[rows],
                "total_in_s": sequences.total_in_s[rows],
                "users_in_s": sequences.users_in_s[rows],
                "total_in_d": sequences.total_in_d[rows],
                "users_in_d": sequences.users_in_d[rows],
                "contexts": pa.nulls(len(rows), SEQUENCES.field("contexts").type),
                "context_lengths": _lists(offsets, members.starts[examples]),
                "perplexities": _lists(offsets, members.perplexities[examples]),
                "lowest_perplexity": sequences.lowest[rows],
                "public_perplexities": pa.nulls(len(rows), pa.list_(pa.float32())),
                "ratio": pa.nulls(len(rows), pa.float32()),
                "copied_from_context": sequences.copied[rows],
                "near_tie": sequences.near_tie[rows],
            }
            if revealed is not None:
                columns["sequence"] = revealed.sequences(sequences.nodes[rows])
                spelled = revealed.contexts(int(begins), int(ends))
                columns["contexts"] = pa.ListArray.from_arrays(offsets, spelled)
            table = pa.table(
                [pa.array(columns[name]) for name in SEQUENCES.names], schema=SEQUENCES
            )
            writer.write_table(table.filter(pa.array(listed[rows])))


def write_occurrences(path: Path, parts: Iterable[Path], members: Members, rows: Sequences) -> None:
    """One row for each member of S, in corpus order."""
    done = 0
    with parquet_sink(path, OCCURRENCES) as writer:
        for part in parts:
            for found in read_occurrences(part):
                here = slice(done, done + len(found))
                done += len(found)
                offsets = pa.array(found.offsets, pa.int32())
                columns = [
                    rows.of_member[here],
                    found.users,
                    found.documents,
                    found.starts,
                    members.lengths[here],
                    members.perplexities[here],
                    found.copied,
                    found.near_tie,
                    _lists(offsets, found.rank),
                    _lists(offsets, found.log_prob),
                    _lists(offsets, found.top_log_prob),
                ]
                arrays = [pa.array(column) for column in columns]
                writer.write_table(pa.table(arrays, schema=OCCURRENCES))


def write_users(
    path: Path,
    members: Members,
    sequences: Sequences,
    sizes: tuple[LongArray, LongArray],
    keys: dict[int, str] | None,
) -> None:
    """One row for each user with training documents; `sizes` are documents and words by user."""
    documents, words = sizes
    count = len(documents)
    unique = sequences.unique[sequences.of_member]
    owned = np.unique((members.users[unique].astype(np.int64) << 32) | sequences.of_member[unique])
    owners, what = owned >> 32, owned & 0xFFFFFFFF
    longest = np.zeros(count, np.int32)
    np.maximum.at(longest, owners, sequences.lengths[what])
    shortest = np.full(count, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(shortest, members.users[unique], members.starts[unique])
    numbers = np.bincount(owners, minlength=count)
    present = np.flatnonzero(documents)
    none = numbers[present] == 0
    spelled = None if keys is None else [keys[int(user)] for user in present]
    columns = [
        pa.array(present, pa.int32()),
        pa.array(spelled, pa.string()) if spelled else pa.nulls(len(present), pa.string()),
        pa.array(documents[present]),
        pa.array(words[present]),
        pa.array(np.bincount(members.users, minlength=count)[present]),
        pa.array(numbers[present]),
        pa.array(longest[present], mask=none),
        pa.array(shortest[present], mask=none),
    ]
    write_parquet(path, pa.table(columns, schema=USERS))


def _lists(offsets: pa.Array, values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> pa.ListArray:
    return pa.ListArray.from_arrays(offsets, pa.array(values))


def user_keys(shards: Iterable[dict[int, str]]) -> dict[int, str]:
    """The keys of all users by number."""
    return dict(_items(shards))


def _items(shards: Iterable[dict[int, str]]) -> Iterator[tuple[int, str]]:
    for shard in shards:
        yield from shard.items()
