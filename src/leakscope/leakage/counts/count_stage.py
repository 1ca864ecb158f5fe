"""Count sequences in D, some shards of whole users at a time: a map whose outputs add up."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus
from leakscope.engine.stages import Work
from leakscope.leakage.counts.counting import Counter, Counts
from leakscope.leakage.counts.suffix_links import SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.records.artifacts import damaged, parquet_sink, read_parquet
from leakscope.records.documents import IntArray, LongArray

_SCHEMA = pa.schema(
    [
        ("of_user", pa.bool_()),
        ("number", pa.int32()),
        ("first", pa.int64()),
        ("second", pa.int64()),
    ]
)
"""A row for each node that stands in the shards, with its total and its users; and one for each
user of them, with their documents and words."""


@dataclass(frozen=True)
class CountStage:
    """The `engine` stage: `shards[i]` are the numbers of the shards that output i counts."""

    corpus: Path
    training: str
    """See `Corpus.training`."""
    shards: tuple[tuple[int, ...], ...]
    trie: Trie
    """Which grows no more."""
    links: SuffixLinks
    name: str = "count"

    def start(self) -> Work:
        """Open the corpus."""
        corpus = Corpus.open(self.corpus).trained_on(self.training)
        return lambda index, target: self._count(corpus, self.shards[index], target)

    def _count(self, corpus: Corpus, numbers: tuple[int, ...], target: Path) -> None:
        shards = [corpus.shards[number] for number in numbers]
        counter = Counter(self.trie, self.links)
        low, high = shards[0].bounds.users[0], shards[-1].bounds.users[1]
        sizes = UserSizes(high + 1 - low, low)
        for shard in shards:
            for documents in sizes.watch(shard):
                counter.add(documents)
        write_shard_counts(target, counter.counts(), sizes)


def write_shard_counts(target: Path, counts: Counts, sizes: UserSizes) -> None:
    """Write what was counted in some shards, and how much their users have in them."""
    nodes, users = np.flatnonzero(counts.total), np.flatnonzero(sizes.documents)
    with parquet_sink(target, _SCHEMA, sealed=True) as writer:
        writer.write_batch(_rows(False, nodes, counts.total[nodes], counts.users[nodes]))
        writer.write_batch(
            _rows(True, users + sizes.first, sizes.documents[users], sizes.words[users])
        )


def _rows(
    of_user: bool, numbers: LongArray, first: LongArray, second: LongArray | IntArray
) -> pa.RecordBatch:
    columns = [
        pa.repeat(of_user, len(numbers)),
        pa.array(numbers, pa.int32()),
        pa.array(first, pa.int64()),
        pa.array(second, pa.int64()),
    ]
    return pa.record_batch(columns, schema=_SCHEMA)


def add_shard_counts(path: Path, counts: Counts, sizes: UserSizes) -> None:
    """Add what stands in an output of the stage to `counts` and `sizes`."""
    rows = read_parquet(path)
    if rows.schema != _SCHEMA:
        raise damaged(path)
    of_user, numbers, first, second = (column.to_numpy() for column in rows.columns)
    nodes, users = numbers[~of_user], numbers[of_user]
    for found, size in ((nodes, len(counts.total)), (users, len(sizes.documents))):
        if len(found) and (found[0] < 0 or found[-1] >= size or (np.diff(found) <= 0).any()):
            raise damaged(path)
    counts.total[nodes] += first[~of_user]
    counts.users[nodes] += second[~of_user].astype(np.int32)
    sizes.documents[users] += first[of_user]
    sizes.words[users] += second[of_user]


def shard_groups(sizes: list[int], least: int) -> Iterator[tuple[int, ...]]:
    """The numbers of consecutive shards that are together at least of this size, but for the last
    ones.
    """
    some: list[int] = []
    total = 0
    for number, size in enumerate(sizes):
        some.append(number)
        total += size
        if total >= least:
            yield tuple(some)
            some, total = [], 0
    if some:
        yield tuple(some)
