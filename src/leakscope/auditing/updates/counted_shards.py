"""What sequences a corpus has, some shards at a time, each count of which can be kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus, Shard
from leakscope.leakage.counts.corpus_counting import SHARD_BYTES
from leakscope.leakage.counts.count_stage import shard_groups
from leakscope.leakage.counts.counting import Counter, Counts
from leakscope.leakage.counts.suffix_links import SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.records.artifacts import digest_of


@dataclass(frozen=True)
class CountedShards:
    """The `Chunks` of counting: of each group of shards, the nodes of the trie that stand in it,
    with their occurrences and users. Users are whole within a shard, so the counts add up.
    """

    groups: tuple[tuple[Shard, ...], ...]
    trie: Trie
    identity: tuple[str, ...]
    """What decides all counts: the trie, the lexicon, and which documents are counted."""
    name: str = "count"
    schema: ClassVar[pa.Schema] = pa.schema(
        [("node", pa.int32()), ("total", pa.int64()), ("users", pa.int32())]
    )

    @staticmethod
    def of(corpus: Corpus, trie: Trie) -> "CountedShards":
        """Of all training documents of a corpus."""
        return CountedShards(
            grouped(corpus),
            trie.trimmed(),
            (trie.digest, corpus.manifest.lexicon_digest, corpus.training),
        )

    def digests(self) -> list[str]:
        """See `Chunks`."""
        return [
            digest_of([*self.identity, *(shard.digest for shard in group)]) for group in self.groups
        ]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        links = SuffixLinks.of(self.trie)

        def counted(index: int) -> pa.RecordBatch:
            counter = Counter(self.trie, links)
            for shard in self.groups[index]:
                for documents in shard.documents():
                    counter.add(documents)
            counts = counter.counts()
            nodes = np.flatnonzero(counts.total)
            columns = [nodes.astype(np.int32), counts.total[nodes], counts.users[nodes]]
            return pa.record_batch(columns, schema=self.schema)

        return counted


def grouped(corpus: Corpus) -> tuple[tuple[Shard, ...], ...]:
    """Its shards, so many together that reading them takes about a second."""
    sizes = [shard.path.stat().st_size for shard in corpus.shards]
    return tuple(
        tuple(corpus.shards[number] for number in numbers)
        for numbers in shard_groups(sizes, SHARD_BYTES)
    )


def summed(parts: Sequence[pa.Table], trie: Trie) -> Counts:
    """The counts of all groups of shards."""
    counts = Counts(np.zeros(trie.nodes, np.int64), np.zeros(trie.nodes, np.int32))
    for part in parts:
        nodes = part["node"].to_numpy()
        counts.total[nodes] += part["total"].to_numpy()
        counts.users[nodes] += part["users"].to_numpy()
    return counts
