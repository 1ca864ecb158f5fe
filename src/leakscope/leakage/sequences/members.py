"""The occurrences of S, as far as a report needs them at any time."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import read_occurrences
from leakscope.leakage.counts.trie import Trie
from leakscope.records.artifacts import damaged
from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True)
class Members:
    """S, a few numbers for each of its o occurrences, in corpus order; in memory or in files."""

    nodes: IntArray
    """[o] the trie node of the sequence."""
    users: IntArray
    documents: LongArray
    starts: IntArray
    lengths: IntArray
    perplexities: FloatArray
    copied: BoolArray
    near_tie: BoolArray

    def __len__(self) -> int:
        return len(self.nodes)


def gather(parts: Iterable[Path], trie: Trie) -> Members:
    """Read scored pieces into memory, putting every sequence into `trie`."""
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
