"""Decoys: what the model predicts in held-out documents, and what no training document of another
user could have taught it.

A document that the model has never seen is compared with D as every training document is compared
with the rest of D. Hence two kinds. A run that stands once in its document and nowhere in D is what
a unique sequence with one occurrence in D would be without memory; both scale with words. A run
that its user has repeated, there or in D, and nobody else in D has, answers for the unique
sequences that their owner repeats. The model may know it from D, so that there are too many of
these, never too few; unless a model that was trained in the same way without this user says which
come out without memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscope.corpus.split import ALL, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Members, gather
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, LongArray

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutShare:
    """How much held-out text there is beside the text that S comes from, in words."""

    held_out: int
    trained: int

    @property
    def weight(self) -> float:
        """For how many sequences of S one from the held-out text stands."""
        return self.trained / self.held_out

    def weight_of(self, came_out: LongArray) -> Floats:
        """[n] the same for sequences that came out so often in both together: at least once in the
        held-out text, which is the less of a coincidence the more often.
        """
        share = self.held_out / (self.held_out + self.trained)
        found: Floats = 1 / -np.expm1(came_out * np.log1p(-share))
        return found


@dataclass(frozen=True)
class Decoys:
    """d decoys, and where they come from."""

    members: Members
    """[o] all correct runs of the held-out documents."""
    chosen: LongArray
    """[d] those that are decoys, rising."""
    repeated: BoolArray
    """[d] whether the user has repeated it."""
    weights: Floats
    """[d] for how many sequences of D each stands."""
    share: HeldOutShare
    of_others: float
    """Share of these words whose users have no training document."""

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def lengths(self) -> LongArray:
        """[d] words of each."""
        return self.members.lengths[self.chosen].astype(np.int64)

    @property
    def documents(self) -> LongArray:
        """[d] the document that each stands in."""
        return self.members.documents[self.chosen]

    def only(self, kept: BoolArray) -> "Decoys":
        """Some of the decoys, as `kept` [d] says."""
        return replace(
            self,
            chosen=self.chosen[kept],
            repeated=self.repeated[kept],
            weights=self.weights[kept],
        )

    def largest(self, ratios: FloatArray) -> BoolArray:
        """[d] all of them, but of each that one user repeats only the one with the largest of
        `ratios` [d].
        """
        order = np.lexsort((self.chosen, -np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf)))
        users = self.members.users[self.chosen].astype(np.int64)
        owned = (users << 32) | self.members.nodes[self.chosen]
        kept = np.zeros(len(self), np.bool_)
        kept[order] = _first_of_each(owned[order], ~self.repeated[order])
        return kept


def _first_of_each(values: LongArray, always: BoolArray) -> BoolArray:
    """[n] whether a value comes for the first time, or is `always` taken."""
    first = np.zeros(len(values), np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first | always


def find_decoys(
    parts: list[Path], share: HeldOutShare, counted: CountedSequences, corpus: Corpus, threads: int
) -> Decoys:
    """From the scored held-out documents `parts`; counted in D and in the held-out documents.
    `counted` is S.
    """
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(parts, trie)
    shards = corpus.shards
    in_d = count(trie, [shard.documents() for shard in shards], threads)
    in_all = count(trie, [shard.documents(ALL) for shard in shards], threads)
    held = count(trie, [shard.documents(VALIDATION) for shard in shards], threads)
    documents = count(trie, [_as_users(corpus)])
    nodes = members.nodes
    nowhere = in_d.total[nodes] == 0
    once = nowhere & (held.total == documents.users)[nodes]
    # The one user in D is among those with it in held-out documents. If these are several, it may
    # be another one's: a decoy too many.
    own = nowhere | ((in_d.users == 1) & (in_all.users == held.users))[nodes]
    chosen = np.flatnonzero(own)
    weights = np.full(len(chosen), share.weight)
    again = ~once[chosen]
    came_out = _in_s(trie, nodes[chosen[again]], counted) + np.bincount(nodes)[nodes[chosen[again]]]
    weights[again] = share.weight_of(came_out)
    return Decoys(members, chosen, again, weights, share, _of_others(corpus))


def _in_s(trie: Trie, nodes: IntArray, counted: CountedSequences) -> LongArray:
    """[n] how often the sequences of some nodes are in S."""
    offsets, ids = trie.sequences(nodes)
    known = counted.trie.nodes
    there = counted.trie.insert(ids, offsets)  # S has all that were in it before
    totals = np.bincount(counted.members.nodes, minlength=known)
    found: LongArray = np.where(there < known, totals[np.minimum(there, known - 1)], 0)
    return found


def _as_users(corpus: Corpus) -> Iterator[Documents]:
    """The held-out documents, each as if it were a user's only one."""
    done = 0
    for chunk in corpus.documents(VALIDATION):
        numbers = np.arange(done, done + len(chunk), dtype=np.int32)
        yield replace(chunk, users=numbers)
        done += len(chunk)


def _of_others(corpus: Corpus) -> float:
    trained = np.zeros(corpus.manifest.users, np.bool_)
    for chunk in corpus.documents():
        trained[chunk.users] = True
    words, others = 0, 0
    for chunk in corpus.documents(VALIDATION):
        lengths = chunk.lengths()
        words += int(lengths.sum())
        others += int(lengths[~trained[chunk.users]].sum())
    return others / words if words else 0.0
