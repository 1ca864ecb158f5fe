"""The distinct sequences of S with their features, and which occurrences of each are listed."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.leakage.sequences import tally_kernels as kernels
from leakscope.leakage.sequences.documents_by_number import words_at
from leakscope.leakage.sequences.members import Members
from leakscope.leakage.sequences.scratch_columns import slices_of
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
from leakscope.records.unique import is_unique


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

    def unique_in(self, rows: slice) -> BoolArray:
        """Which of some sequences are unique."""
        return is_unique(self.users_in_d[rows])

    def members_of(self, rows: BoolArray) -> LongArray:
        """The occurrences of the sequences `rows` [s], rising."""
        found = [
            np.flatnonzero(rows[self.of_member[here]]) + here.start
            for here in slices_of(len(self.of_member))
        ]
        return np.concatenate([*found, np.zeros(0, np.int64)])


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
    among equals the first. `of_member` [o] and `starts` [o] are those of all occurrences, fewer
    than 2**32.
    """
    totals = np.zeros(size, np.int64)
    for here in slices_of(len(of_member)):
        kernels.count_each(of_member[here], totals)
    offsets = offsets_of(np.minimum(totals, most))
    sizes, kept = np.zeros(size, np.int64), np.zeros(int(offsets[-1]), np.uint64)
    for here in slices_of(len(of_member)):
        kernels.keep_shortest(of_member[here], starts[here], here.start, offsets, sizes, kept)
    kernels.sort_each(offsets, kept)
    np.bitwise_and(kept, np.uint64(0xFFFFFFFF), out=kept)
    return Examples(offsets, kept.view(np.int64))


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
