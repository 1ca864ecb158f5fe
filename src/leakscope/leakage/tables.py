"""Write `sequences.parquet`, `occurrences.parquet` and `users.parquet`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.leakage.correct_runs.score_stage import read_occurrences
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.scrutiny.findings import Findings
from leakscope.leakage.sequences.distinct import Contexts, Examples, Members, Sequences
from leakscope.records.artifacts import parquet_sink, write_parquet
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
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


@dataclass(frozen=True)
class Tables:
    """The tables of one run, before they are written."""

    members: Members
    sequences: Sequences
    findings: Findings

    def write_sequences(
        self, path: Path, chosen: Examples, listed: BoolArray, revealed: Speller | None
    ) -> None:
        """One row for each sequence that is `listed` [s]; words only if they are `revealed`."""
        members, sequences = self.members, self.sequences
        size = len(sequences)
        least, exact = self.findings.least_of(size)
        tried, brought = self.findings.elsewhere_of(size)
        with parquet_sink(path, SEQUENCES) as writer:
            for low in range(0, size, ROWS):
                rows = np.arange(low, min(low + ROWS, size))
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
                    "lowest_perplexity": _told(sequences.lowest[rows]),
                    **self._public_columns(rows, chosen, offsets, examples),
                    "copied_from_context": sequences.copied[rows],
                    "near_tie": sequences.near_tie[rows],
                    "least_context": pa.array(least[rows], mask=least[rows] < 0),
                    "least_context_exact": pa.array(exact[rows], mask=least[rows] < 0),
                    "elsewhere_tried": pa.array(tried[rows], mask=tried[rows] < 0),
                    "elsewhere_out": pa.array(brought[rows], mask=tried[rows] < 0),
                    "pii": self._tags(rows),
                }
                if revealed is not None:
                    columns["sequence"] = revealed.sequences(sequences.nodes[rows])
                    spelled = revealed.contexts(int(begins), int(ends))
                    columns["contexts"] = pa.ListArray.from_arrays(offsets, spelled)
                table = pa.table(
                    [pa.array(columns[name]) for name in SEQUENCES.names], schema=SEQUENCES
                )
                writer.write_table(table.filter(pa.array(listed[rows])))

    def _public_columns(
        self, rows: LongArray, chosen: Examples, offsets: pa.Array, examples: LongArray
    ) -> dict[str, pa.Array]:
        """Public perplexities, aligned with the examples, and the ratio; null unless unique."""
        ratios = self.findings.ratios
        if ratios is None:
            return {
                "public_perplexities": pa.nulls(len(rows), pa.list_(pa.float32())),
                "ratio": pa.nulls(len(rows), pa.float32()),
            }
        hidden = ~self.sequences.unique[rows]
        lists = pa.ListArray.from_arrays(
            offsets, pa.array(ratios.public[examples]), mask=pa.array(hidden)
        )
        return {
            "public_perplexities": lists,
            "ratio": pa.array(ratios.of_sequence[rows], mask=hidden),
        }

    def _tags(self, rows: LongArray) -> pa.Array:
        tags, unique = self.findings.tags, self.sequences.unique
        if tags is None:
            return pa.nulls(len(rows), pa.list_(pa.string()))
        listed = [list(tags.get(row, ())) if unique[row] else None for row in rows.tolist()]
        return pa.array(listed, pa.list_(pa.string()))

    def write_occurrences(self, path: Path, parts: Iterable[Path]) -> None:
        """One row for each member of S, in corpus order."""
        done = 0
        with parquet_sink(path, OCCURRENCES) as writer:
            for part in parts:
                for found in read_occurrences(part):
                    here = slice(done, done + len(found))
                    done += len(found)
                    offsets = pa.array(found.offsets, pa.int32())
                    columns = [
                        self.sequences.of_member[here],
                        found.users,
                        found.documents,
                        found.starts,
                        self.members.lengths[here],
                        _told(self.members.perplexities[here]),
                        found.copied,
                        found.near_tie,
                        _lists(offsets, found.rank),
                        _lists(offsets, found.log_prob),
                        _lists(offsets, found.top_log_prob),
                        self._public_log_probs(here),
                    ]
                    arrays = [pa.array(column) for column in columns]
                    writer.write_table(pa.table(arrays, schema=OCCURRENCES))

    def _public_log_probs(self, here: slice) -> pa.Array:
        """Lists for the occurrences that the public model judged, null for the others."""
        said, size = self.findings.surprise, here.stop - here.start
        if said is None:
            return pa.nulls(size, pa.list_(pa.float32()))
        low, high = np.searchsorted(said.members, [here.start, here.stop])
        judged = said.members[low:high] - here.start
        lengths = np.zeros(size, np.int64)
        lengths[judged] = np.diff(said.offsets)[low:high]
        absent = np.ones(size, np.bool_)
        absent[judged] = False
        offsets = offsets_of(lengths)
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()),
            pa.array(said.log_probs[said.offsets[low] : said.offsets[high]]),
            mask=pa.array(absent),
        )

    def write_users(
        self, path: Path, sizes: tuple[LongArray, LongArray], keys: dict[int, str] | None
    ) -> None:
        """One row for each user with training documents; `sizes` are documents and words by
        user.
        """
        members, sequences = self.members, self.sequences
        documents, words = sizes
        count = len(documents)
        unique = sequences.unique[sequences.of_member]
        pairs = (members.users[unique].astype(np.int64) << 32) | sequences.of_member[unique]
        owned = np.unique(pairs)
        owners, what = owned >> 32, owned & 0xFFFFFFFF
        longest = np.zeros(count, np.int32)
        np.maximum.at(longest, owners, sequences.lengths[what])
        shortest = np.full(count, np.iinfo(np.int32).max, np.int32)
        np.minimum.at(shortest, members.users[unique], members.starts[unique])
        ratio = np.full(count, -np.inf, np.float32)
        if self.findings.ratios is not None:
            np.maximum.at(ratio, owners, self.findings.ratios.of_sequence[what])
        least_of, _ = self.findings.least_of(len(sequences))
        least = np.full(count, np.iinfo(np.int32).max, np.int32)
        known = least_of[what] >= 0
        np.minimum.at(least, owners[known], least_of[what[known]])
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
            pa.array(ratio[present], mask=ratio[present] == -np.inf),
            pa.array(least[present], mask=least[present] == np.iinfo(np.int32).max),
            self._user_tags(present, none, owners, what),
        ]
        write_parquet(path, pa.table(columns, schema=USERS))

    def _user_tags(
        self, present: LongArray, none: BoolArray, owners: LongArray, what: LongArray
    ) -> pa.Array:
        tags = self.findings.tags
        if tags is None:
            return pa.nulls(len(present), pa.list_(pa.string()))
        kinds: dict[int, set[str]] = {}
        for owner, row in zip(owners.tolist(), what.tolist(), strict=True):
            if row in tags:
                kinds.setdefault(owner, set()).update(tags[row])
        listed = [
            None if absent else sorted(kinds.get(user, ()))
            for user, absent in zip(present.tolist(), none.tolist(), strict=True)
        ]
        return pa.array(listed, pa.list_(pa.string()))


def _lists(offsets: pa.Array, values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> pa.ListArray:
    return pa.ListArray.from_arrays(offsets, _told(values))


def _told(values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> pa.Array:
    """Numbers, null where they are not known: some endpoints tell no probabilities."""
    return pa.array(values, from_pandas=True)


def user_keys(shards: Iterable[dict[int, str]]) -> dict[int, str]:
    """The keys of all users by number."""
    return dict(_items(shards))


def _items(shards: Iterable[dict[int, str]]) -> Iterator[tuple[int, str]]:
    for shard in shards:
        yield from shard.items()
