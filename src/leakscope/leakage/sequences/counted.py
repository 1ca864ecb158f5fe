"""S, counted: what scoring and counting have found, before anybody looks closer."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, before_the_end, silent
from leakscope.engine.spilled_array import SpilledArray
from leakscope.engine.stages import Engine
from leakscope.leakage.counts.corpus_counting import CorpusCounting
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.counts.trie_parts import NODE_BYTES, TrieParts
from leakscope.leakage.counts.user_sizes import UserSizes
from leakscope.leakage.sequences import tally_kernels as kernels
from leakscope.leakage.sequences.collect_stage import collect_pieces
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.first_words import first_word_parts
from leakscope.leakage.sequences.gathering import (
    in_order,
    insert_part,
    no_numbers,
    read_members,
    tally_part,
)
from leakscope.leakage.sequences.members import Members
from leakscope.leakage.sequences.scratch_columns import slices_of
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.errors import LeakscopeError

TRIE_BYTES = 4 << 30
MOST_OCCURRENCES, MOST_NODES = 1 << 32, 1 << 31
"""What the numbers of occurrences and nodes have room for."""
"""What a trie and its counts may take in a worker, by default."""


@dataclass(frozen=True)
class CountedSequences:
    """The occurrences and the distinct sequences of S, with their counts in D."""

    trie: TrieParts
    members: Members
    sequences: Sequences

    def owners(self) -> IntArray:
        """The users who own unique sequences, rising."""
        return self.users_of(self.sequences.unique)

    def users_of(self, rows: BoolArray) -> IntArray:
        """The users who have one of the sequences `rows` [s] in S, rising."""
        found = [
            np.unique(self.members.users[here][rows[self.sequences.of_member[here]]])
            for here in slices_of(len(self.members))
        ]
        return np.unique(np.concatenate([*found, np.zeros(0, np.int32)]))

    def first_documents(self) -> LongArray:
        """[s] the document that each sequence came out of first."""
        found = np.zeros(len(self.sequences), np.int64)
        for here in [*slices_of(len(self.members))][::-1]:
            rows, documents = self.sequences.of_member[here], self.members.documents[here]
            found[rows[::-1]] = documents[::-1]
        return found

    def documents_in_s(self, nodes: IntArray) -> LongArray:
        """[n] how many documents of D the sequences of some nodes came out of."""
        last, totals = np.full(self.trie.nodes, -1, np.int64), np.zeros(self.trie.nodes, np.int64)
        for here in slices_of(len(self.members)):
            kernels.count_documents(
                self.members.nodes[here], self.members.documents[here], last, totals
            )
        totals[0] = 0
        return totals[nodes]


@dataclass(frozen=True)
class SequenceCounting:
    """How S is collected and counted in D: by stages of `engine`, whose outputs are kept in
    `work`.
    """

    corpus: Corpus
    work: Path
    engine: Engine
    progress: Progress = silent
    trie_bytes: int = TRIE_BYTES
    """More sequences than this has room for are counted in several tries, one after another."""

    def count(self, pieces: list[Path]) -> tuple[CountedSequences, UserSizes]:
        """The sequences of scored pieces, and how much each user has in D."""
        lexicon, most = self.corpus.manifest.lexicon, max(1, self.trie_bytes // NODE_BYTES)
        going = before_the_end(self.progress)
        collected = collect_pieces(pieces, lexicon, self.work, self.engine, going)
        members = read_members(collected, self.work)
        _require_fewer(len(members), MOST_OCCURRENCES, "correct runs")
        self.progress("collect", len(pieces), len(pieces), f"{len(members)} correct runs")
        numbers = no_numbers(members, self.work)
        parts = first_word_parts(collected, lexicon, most)
        counting = CorpusCounting(self.corpus, self.work, self.engine, going)
        edges, tallied, base, done = [], [], 0, 0
        for part in range(1 if parts is None else int(parts.max()) + 1):
            trie = Trie.empty(lexicon)
            insert_part(collected, trie, parts, part, base, members.nodes)
            _require_fewer(base + trie.nodes, MOST_NODES, "beginnings of sequences")
            counts, sizes = counting.count(trie)
            tallied.append(tally_part(members, numbers, trie, counts, base, done))
            column = SpilledArray(self.work, np.int64)
            column.append(trie.edges[: trie.nodes])
            edges.append(column.mapped())
            base, done = base + trie.nodes - 1, done + len(tallied[-1].nodes)
        sequences = in_order(tallied, numbers)
        shards = len(self.corpus.shards)
        self.progress("count", shards, shards, f"{len(sequences)} sequences")
        return CountedSequences(TrieParts(lexicon, tuple(edges)), members, sequences), sizes


def _require_fewer(count: int, most: int, what: str) -> None:
    """Refuse what could only be counted wrongly."""
    if count >= most:
        raise LeakscopeError(
            f"The model gives away {count:,} {what}, and a report counts at most {most:,}; report "
            f"on some users at a time (--users), or with a smaller --top-k."
        )
