"""From occurrences to distinct sequences with their features: counts, contexts, perplexities."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import read_occurrences
from leakscope.leakage.counts.counting import Counts
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences.documents_by_number import words_at
from leakscope.records.artifacts import damaged
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
from leakscope.records.unique import is_unique


@dataclass(frozen=True)
class Members:
    """S in memory, a few numbers for each of its o occurrences, in corpus order."""

    nodes: IntArray
    """[o] the trie node of the sequence."""
    users: IntArray
    documents: LongArray
    starts: IntArray
    lengths: IntArray
    perplexities: FloatArray
    copied: BoolArray
    near_tie: BoolArray


def gather(parts: Iterable[Path], trie: Trie) -> Members:
    """Read the scored shards, putting every sequence into `trie`."""
    chunks = []
    for part in parts:
        for found in read_occurrences(part):
            low, high = found.ids.min(initial=0), found.ids.max(initial=-1)
            if found.ids.dtype != np.int32 or low < 0 or high >= len(trie.roots):
                raise damaged(part)
            chunks.append(_members(found, trie))
    chunks.append(_members(Occurrences.none(), trie))  # gives the types if S is empty
    return Members(
        *(np.concatenate([getattr(c, field.name) for c in chunks]) for field in fields(Members))
    )


def _members(found: Occurrences, trie: Trie) -> Members:
    return Members(
        nodes=trie.insert(found.ids, found.offsets),
        users=found.users,
        documents=found.documents,
        starts=found.starts,
        lengths=found.lengths().astype(np.int32),
        perplexities=run_perplexities(found.log_prob, found.offsets),
        copied=found.copied,
        near_tie=found.near_tie,
    )


def run_perplexities(log_probs: FloatArray, offsets: LongArray) -> FloatArray:
    """exp(-mean log p) of each run of words; every run has at least one word."""
    if len(offsets) <= 1:
        return np.zeros(0, np.float32)
    sums = np.add.reduceat(log_probs.astype(np.float64), offsets[:-1])
    with np.errstate(over="ignore"):  # beyond float32: inf, which a report shows as unmeasurable
        return np.exp(-sums / np.diff(offsets)).astype(np.float32)


@dataclass(frozen=True)
class Sequences:
    """The s distinct sequences of S; those of the fewest users first, then the longest."""

    nodes: IntArray
    lengths: IntArray
    total_in_s: LongArray
    users_in_s: IntArray
    total_in_d: LongArray
    users_in_d: IntArray
    copied: BoolArray
    """[s] every occurrence was copied from its context."""
    near_tie: BoolArray
    """[s] some occurrence hung on a near tie."""
    lowest: FloatArray
    """[s] the smallest perplexity of its occurrences."""
    of_member: IntArray
    """[o] the sequence of each occurrence."""

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def unique(self) -> BoolArray:
        """[s] which sequences are unique."""
        return is_unique(self.users_in_d)


def distinct(members: Members, counts: Counts) -> Sequences:
    """Group S by sequence. The order depends on S and D alone."""
    size = len(counts.total)
    total = np.bincount(members.nodes, minlength=size)
    pairs = np.unique((members.nodes.astype(np.int64) << 32) | members.users)
    users = np.bincount(pairs >> 32, minlength=size)
    present = np.flatnonzero(total)
    lengths = np.zeros(size, np.int32)
    lengths[members.nodes] = members.lengths
    copies = np.bincount(members.nodes, weights=members.copied, minlength=size)
    ties = np.bincount(members.nodes, weights=members.near_tie, minlength=size)
    lowest = np.full(size, np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN where an endpoint tells no probabilities
        np.minimum.at(lowest, members.nodes, members.perplexities)
    keys = (present, -total[present], -lengths[present], counts.users[present])
    nodes = present[np.lexsort(keys)]
    row = np.zeros(size, np.int32)
    row[nodes] = np.arange(len(nodes), dtype=np.int32)
    return Sequences(
        nodes=nodes.astype(np.int32),
        lengths=lengths[nodes],
        total_in_s=total[nodes],
        users_in_s=users[nodes].astype(np.int32),
        total_in_d=counts.total[nodes],
        users_in_d=counts.users[nodes],
        copied=copies[nodes] == total[nodes],
        near_tie=ties[nodes] > 0,
        lowest=lowest[nodes],
        of_member=row[members.nodes],
    )


@dataclass(frozen=True)
class Examples:
    """The occurrences that a sequence's row lists: sequence i has offsets[i] to offsets[i + 1]."""

    offsets: LongArray
    members: LongArray
    """[e] indices into `Members`, shortest context first."""


def examples(members: Members, sequences: Sequences, most: int) -> Examples:
    """At most `most` occurrences of each sequence."""
    return shortest_contexts(sequences.of_member, members.starts, len(sequences), most)


def shortest_contexts(of_member: IntArray, starts: IntArray, size: int, most: int) -> Examples:
    """At most `most` occurrences of each of `size` sequences: those with the shortest contexts,
    among equals the first. `of_member` [o] and `starts` [o] are those of all occurrences.
    """
    order = np.lexsort((np.arange(len(of_member)), starts, of_member))
    owner = of_member[order]
    begins = np.searchsorted(owner, np.arange(size))
    kept = np.arange(len(order)) - begins[owner] < most if len(order) else np.zeros(0, np.bool_)
    counts = np.bincount(owner[kept], minlength=size)
    return Examples(offsets_of(counts), order[kept])


@dataclass(frozen=True)
class Contexts:
    """Words before each example: example j has ids[offsets[j] : offsets[j + 1]]."""

    offsets: LongArray
    ids: IntArray


def contexts(
    members: Members, chosen: Examples, corpus: Iterable[Documents], most: int
) -> Contexts:
    """The last `most` words, at most, of the context of each example; one pass over the corpus."""
    listed = chosen.members
    return contexts_at(corpus, members.documents[listed], members.starts[listed], most)


def contexts_at(
    corpus: Iterable[Documents], numbers: LongArray, starts: IntArray, most: int
) -> Contexts:
    """The same for occurrences in the documents `numbers` [e], which begin at `starts` [e]."""
    sizes = np.minimum(starts, most).astype(np.int64)
    return Contexts(*words_at(corpus, numbers, starts - sizes, sizes))
