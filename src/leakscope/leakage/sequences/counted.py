"""S, counted: what scoring and counting have found, before anybody looks closer."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.engine.progress import Progress, silent
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences.distinct import Members, Sequences, distinct, gather
from leakscope.records.documents import Documents, IntArray, LongArray


@dataclass(frozen=True)
class CountedSequences:
    """The occurrences and the distinct sequences of S, with their counts in D."""

    trie: Trie
    members: Members
    sequences: Sequences

    def owners(self) -> IntArray:
        """The users who own unique sequences, rising."""
        members, sequences = self.members, self.sequences
        return np.unique(members.users[sequences.unique[sequences.of_member]])

    def first_documents(self) -> LongArray:
        """[s] the document that each sequence came out of first."""
        found = np.zeros(len(self.sequences), np.int64)
        found[self.sequences.of_member[::-1]] = self.members.documents[::-1]
        return found


def count_sequences(
    parts: Iterable[Path],
    streams: Iterable[Iterable[Documents]],
    lexicon: int,
    threads: int,
    progress: Progress = silent,
) -> CountedSequences:
    """Gather the scored shards `parts` and count their sequences in D, whose shards `streams` are;
    words are below `lexicon`.
    """
    progress("collect", 0, 1)
    trie = Trie.empty(lexicon)
    members = gather(parts, trie)
    progress("collect", 1, 1, f"{len(members.nodes)} correct runs")
    sequences = distinct(members, count(trie, streams, threads))
    progress("count", 1, 1, f"{len(sequences)} sequences")
    return CountedSequences(trie, members, sequences)
