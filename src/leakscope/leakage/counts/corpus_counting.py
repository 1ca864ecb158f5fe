"""Count sequences in a corpus, on any engine, and keep what is counted of every few shards."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import Engine
from leakscope.leakage.counts.count_stage import CountStage, add_shard_counts, shard_groups
from leakscope.leakage.counts.counting import TALLY_BYTES, Counts
from leakscope.leakage.counts.suffix_links import SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.records.artifacts import digest_of, is_intact

SHARD_BYTES = 32 << 20
"""Shards of together at least so many bytes are counted into one output: that is about a second's
work, and all that a killed report loses of each worker. Smaller outputs would cost more to write
than to count."""


@dataclass(frozen=True)
class CorpusCounting:
    """Counts in D, and keeps what is done in `work`."""

    corpus: Corpus
    work: Path
    engine: Engine
    progress: Progress = silent
    shard_bytes: int = SHARD_BYTES

    def count(self, trie: Trie) -> tuple[Counts, UserSizes]:
        """How often every sequence of `trie` stands in D, and how much each user has in it."""
        shards = self.corpus.shards
        bytes_of = [shard.path.stat().st_size for shard in shards]
        # Reading must outweigh the counts of a large trie, which every output begins with.
        least = max(self.shard_bytes, TALLY_BYTES * trie.nodes)
        groups = tuple(shard_groups(bytes_of, least))
        identity = {
            "trie": trie.digest,
            "lexicon": self.corpus.manifest.lexicon_digest,
            "trained_on": self.corpus.training,
            "leakscope": version("leakscope"),
        }
        outputs = self.engine.map(
            CountStage(
                self.corpus.path, self.corpus.training, groups, trie.trimmed(), SuffixLinks.of(trie)
            ),
            [
                digest_of({**identity, "shards": [shards[number].digest for number in group]})
                for group in groups
            ],
            self.work,
            sizes=[len(group) for group in groups],
            unit="shards",
            keep=is_intact,
            progress=self.progress,
        )
        counts = Counts(np.zeros(trie.nodes, np.int64), np.zeros(trie.nodes, np.int32))
        sizes = UserSizes(self.corpus.manifest.users)
        for output in outputs:
            add_shard_counts(output, counts, sizes)
        self.corpus.require_counts(None, int(sizes.documents.sum()), int(sizes.words.sum()))
        return counts, sizes
