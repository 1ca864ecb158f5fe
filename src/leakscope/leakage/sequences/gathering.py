"""Put what was collected of all pieces together: occurrences in files, sequences in tries, features
of every sequence. Memory grows with the distinct sequences, not with S.
"""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from leakscope.engine.spilled_array import spilled_zeros
from leakscope.leakage.counts.counting import Counts
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences import tally_kernels as kernels
from leakscope.leakage.sequences.collect_stage import (
    DistinctRuns,
    read_collected,
    read_distinct,
)
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.members import Members
from leakscope.leakage.sequences.scratch_columns import scratch_columns, slices_of
from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of

_TYPES = {
    "nodes": np.int32,
    "users": np.int32,
    "documents": np.int64,
    "starts": np.int32,
    "lengths": np.int32,
    "perplexities": np.float32,
    "copied": np.bool_,
    "near_tie": np.bool_,
}


def read_members(collected: list[Path], scratch: Path) -> Members:
    """All occurrences, in files without a name in `scratch`; their nodes are still 0."""
    with scratch_columns(scratch, _TYPES) as columns:
        for path in collected:
            for some in read_collected(path):
                for name, column in columns.items():
                    column.append(getattr(some, name))
        return Members(**{name: column.mapped() for name, column in columns.items()})


def insert_part(
    collected: list[Path], trie: Trie, parts: IntArray | None, part: int, base: int, nodes: IntArray
) -> None:
    """Put the sequences of one part (None: all) into `trie`, in the order of S, and the numbers of
    their nodes, from `base` on, into `nodes` [o].
    """
    done = 0
    for path in collected:
        for some in read_distinct(path, len(trie.roots)):
            here = slice(done, done + len(some.numbers))
            done += len(some.numbers)
            found = _inserted(some, trie, parts, part)[some.numbers]
            nodes[here] = np.where(found > 0, found + base, nodes[here])


def _inserted(some: DistinctRuns, trie: Trie, parts: IntArray | None, part: int) -> IntArray:
    """[d] the node of each distinct sequence, 0 if it is of another part."""
    if parts is None:
        return trie.insert(some.ids, some.offsets)
    nodes = np.zeros(len(some.offsets) - 1, np.int32)
    rows = np.flatnonzero(parts[some.heads] == part)
    lengths = np.diff(some.offsets)[rows]
    words = some.ids[places_of(some.offsets[rows], lengths)]
    nodes[rows] = trie.insert(words, offsets_of(lengths))
    return nodes


@dataclass(frozen=True)
class TalliedPart:
    """The s sequences of one trie, in the order of their nodes; the fields as in `Sequences`."""

    nodes: IntArray
    lengths: IntArray
    total_in_s: LongArray
    users_in_s: IntArray
    total_in_d: LongArray
    users_in_d: IntArray
    copied: BoolArray
    near_tie: BoolArray
    lowest: FloatArray
    births: LongArray
    """[s] the first occurrence in S of a sequence that begins with it."""


def tally_part(
    members: Members, numbers: IntArray, trie: Trie, counts: Counts, base: int, done: int
) -> TalliedPart:
    """What S and D say of the sequences of one trie; `numbers` [o] tells of its occurrences from
    then on which sequence they are, of which `done` were in tries before.
    """
    size = trie.nodes
    total, births = np.zeros(size, np.int64), np.full(size, np.iinfo(np.int64).max)
    users, last = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    uncopied, ties = np.zeros((2, size), np.bool_)
    lowest = np.full(size, np.inf, np.float32)
    for here in slices_of(len(members)):
        kernels.tally(
            members.nodes[here], members.users[here], members.perplexities[here],
            members.copied[here], members.near_tie[here], base, here.start,
            total, users, last, uncopied, ties, lowest, births,
        )  # fmt: skip
    kernels.inherit_births(trie.edges, births)
    nodes = np.flatnonzero(total)
    row = np.zeros(size, np.int32)
    row[nodes] = np.arange(done, done + len(nodes), dtype=np.int32)
    for here in slices_of(len(members)):
        mine = members.nodes[here] - base
        inside = (mine > 0) & (mine < size)
        numbers[here] = np.where(inside, row[np.where(inside, mine, 0)], numbers[here])
    return TalliedPart(
        nodes=(nodes + base).astype(np.int32),
        lengths=trie.depths()[nodes],
        total_in_s=total[nodes],
        users_in_s=users[nodes],
        total_in_d=counts.total[nodes],
        users_in_d=counts.users[nodes],
        copied=~uncopied[nodes],
        near_tie=ties[nodes],
        lowest=lowest[nodes],
        births=births[nodes],
    )


def in_order(parts: list[TalliedPart], numbers: IntArray) -> Sequences:
    """All sequences. The order depends on S and D alone. `numbers` [o] counts sequences as they are
    in `parts`, and is changed into their rows.
    """
    every = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(TalliedPart)
    }
    births = every.pop("births")
    order = np.lexsort((births, -every["total_in_s"], -every["lengths"], every["users_in_d"]))
    row = np.zeros(len(order), np.int32)
    row[order] = np.arange(len(order), dtype=np.int32)
    for here in slices_of(len(numbers)):
        numbers[here] = row[numbers[here]]
    return Sequences(**{name: values[order] for name, values in every.items()}, of_member=numbers)


def no_numbers(members: Members, scratch: Path) -> IntArray:
    """[o] a place for the number of each occurrence's sequence."""
    return spilled_zeros(scratch, np.int32, len(members))
