"""Decoys: what the model predicts in held-out documents, and what no training document of another
user could have taught it.

A document that the model has never seen is compared with D as every training document is compared
with the rest of D. Hence two kinds. A run that stands once in its document and nowhere in D is what
a unique sequence with one occurrence in D would be without memory; both scale with words. A run
that its user has repeated, there or in D, and nobody else in D has, answers for the unique
sequences that their owner repeats. The model may know it from D, so that there are too many of
these, never too few; unless a model that was trained in the same way without this user says which
come out without memory. The same holds for a run with a word that its user alone has in D: most
are something that the model knows of this user, with another word at its end.

A user of whom D has nothing is compared with D as a whole, as every user of D is compared with the
others: what such a user repeats in held-out documents is repeated, and counts once. None of it can
be memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscope.corpus.split import ALL, VALIDATION
from leakscope.corpus.store import Corpus, concatenate
from leakscope.leakage.correct_runs.score_stage import drawn_by_number
from leakscope.leakage.counts.corpus_counting import CorpusCounting
from leakscope.leakage.counts.counting import Counts, count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.members import Members, gather
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, LongArray
from leakscope.records.ragged import row_sums

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutShare:
    """How much held-out text there is beside the text that S comes from, in words."""

    held_out: int
    trained: int
    sampled: float = 1.0
    """The share of held-out documents that was read."""

    @property
    def weight(self) -> float:
        """For how many sequences of S one from the held-out text stands."""
        return self.trained / self.held_out


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
    """[d] for how many sequences of D each stands; of several that one user repeats in one
    document, only one does."""
    with_own_word: BoolArray
    """[d] whether it holds a word that its user alone has in D; of users of whom D has nothing,
    one that they repeat and D has not."""
    absent: BoolArray
    """[d] whether D has nothing of its user, so that none of it is memory."""
    repeated_words: BoolArray
    """[lexicon] words that one user alone has in D, more than once; of those in S and in these."""
    share: HeldOutShare
    of_others: float
    """Share of these words whose users have no training document."""

    @property
    def of_habit(self) -> BoolArray:
        """[d] whether it is, or is made of, what its user repeats and no other user has."""
        return self.repeated | self.with_own_word

    @property
    def may_be_memory(self) -> BoolArray:
        """[d] whether the model may know it, or a part of it, from its user's documents in D."""
        return self.of_habit & ~self.absent

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
            with_own_word=self.with_own_word[kept],
            absent=self.absent[kept],
            weights=self.weights[kept],
        )

    def merged(self, ratios: FloatArray) -> tuple["Decoys", FloatArray]:
        """All of them with their `ratios` [d], but of each that one user repeats only the one with
        the largest ratio, which has the weights of all documents that it stands in.
        """
        order = np.lexsort((self.chosen, -np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf)))
        documents = np.unique(self.documents, return_inverse=True)[1].astype(np.int64)
        users = self.members.users[self.chosen].astype(np.int64)
        counted = _first_of_each(_pairs(documents, self), order) | ~self.repeated
        kept = _first_of_each(_pairs(users, self), order) | ~self.repeated
        _, group = np.unique(_pairs(users, self), return_inverse=True)
        sums = np.bincount(group, weights=self.weights * (counted & self.repeated))
        weights = np.where(self.repeated, sums[group], self.weights) if len(self) else self.weights
        return replace(self, weights=weights).only(kept), ratios[kept]


def _pairs(owners: LongArray, decoys: Decoys) -> LongArray:
    """[d] one number for the owner and the sequence of each decoy."""
    found: LongArray = (owners << 32) | decoys.members.nodes[decoys.chosen]
    return found


def _first_of_each(values: LongArray, order: LongArray) -> BoolArray:
    """[n] whether none of the same value comes earlier in this order."""
    first = np.zeros(len(values), np.bool_)
    first[order[np.unique(values[order], return_index=True)[1]]] = True
    return first


def find_decoys(
    parts: list[Path],
    share: HeldOutShare,
    counted: CountedSequences,
    counting: CorpusCounting,
    users: IntArray | None = None,
) -> Decoys:
    """From the scored held-out documents `parts`, those of `users` or of all; counted in D and in
    all held-out documents. `counted` is S.
    """
    corpus = counting.corpus
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(parts, trie)
    words = np.union1d(trie.words[1:], counted.trie.vocabulary())
    singles = trie.insert(words, np.arange(len(words) + 1))
    in_d, sizes = counting.count(trie)
    in_all, _ = replace(counting, corpus=corpus.trained_on(ALL)).count(trie)
    held, _ = replace(counting, corpus=corpus.held_out_as_training()).count(trie)
    documents = count(trie, [_as_users(corpus)])
    nodes = members.nodes
    nowhere = in_d.total[nodes] == 0
    once = nowhere & (held.total == documents.users)[nodes]
    absent = sizes.documents[members.users] == 0
    # The one user in D is among those with it in held-out documents. If these are several, it may
    # be another one's: a decoy too many.
    own = ~absent & ((in_d.users == 1) & (in_all.users == held.users))[nodes]
    chosen = np.flatnonzero(nowhere | own)
    weights = np.full(len(chosen), share.weight)
    again = ~once[chosen]
    absent = absent[chosen]
    again[absent], seen = _said_again(corpus, members, chosen[absent], trie, held, share.sampled)
    others = again & ~absent
    weights[others] /= _documents_in_s(trie, nodes[chosen[others]], counted) + 1
    weights[absent] *= seen
    own_words, their_words, repeated_words = np.zeros((3, corpus.manifest.lexicon), np.bool_)
    own_words[words] = (in_d.users[singles] == 1) & (in_all.users[singles] == 1)
    their_words[words] = (in_d.users[singles] == 0) & (held.total[singles] > 1)
    repeated_words[words] = (in_d.users[singles] == 1) & (in_d.total[singles] > 1)
    offsets, ids = trie.sequences(nodes[chosen])
    return Decoys(
        members,
        chosen,
        again,
        weights,
        np.where(absent, holding(their_words, offsets, ids), holding(own_words, offsets, ids)),
        absent,
        repeated_words,
        share,
        _of_others(corpus, sizes.documents > 0, users),
    )


def _said_again(
    corpus: Corpus, members: Members, rows: LongArray, trie: Trie, held: Counts, sampled: float
) -> tuple[BoolArray, Floats]:
    """[n] whether the user of each of the members `rows` has it several times in held-out
    documents, and what to multiply its weight by so that it counts once. `held` counts held-out
    documents, of all users; of these, a share is `sampled`.
    """
    again = held.total[members.nodes[rows]] > 1
    due = np.flatnonzero(again)
    factors = np.ones(len(rows))
    users, nodes = members.users[rows[due]], members.nodes[rows[due]]
    offsets, ids = trie.sequences(nodes)
    some = Trie.empty(corpus.manifest.lexicon)
    places = some.insert(ids, offsets)
    for user, documents in _by_user(corpus, users):
        mine = due[users == user]
        at = places[users == user]
        again[mine] = count(some, [[documents]]).total[at] > 1
        # Of all documents that hold it, those that were read; of these, those that it comes out of.
        read = _holders(some, drawn_by_number(documents, sampled))[at]
        factors[mine] = read / _holders(some, documents)[at]
    factors[due] /= _documents_of(members, rows[due])
    return again, np.where(again, factors, 1.0)


def _holders(trie: Trie, documents: Documents) -> LongArray:
    """[nodes] how many of these documents hold each sequence."""
    each = replace(documents, users=np.arange(len(documents), dtype=np.int32))
    return count(trie, [[each]]).users.astype(np.int64)


def _by_user(corpus: Corpus, users: IntArray) -> Iterator[tuple[int, Documents]]:
    """The held-out documents of each of these users, one user after the other."""
    waiting: list[Documents] = []
    for chunk in corpus.documents(VALIDATION):
        some = chunk.take(np.flatnonzero(np.isin(chunk.users, users)))
        starts = np.flatnonzero(np.diff(some.users, prepend=-1))
        for start, end in pairwise([*starts.tolist(), len(some)]):
            if waiting and waiting[0].users[0] != some.users[start]:
                yield int(waiting[0].users[0]), concatenate(waiting)
                waiting = []
            waiting.append(some.take(np.arange(start, end)))
    if waiting:
        yield int(waiting[0].users[0]), concatenate(waiting)


def _documents_of(members: Members, rows: LongArray) -> LongArray:
    """[n] out of how many documents of its user each of some members comes, among these."""
    of_user = (members.users[rows].astype(np.int64) << 32) | members.nodes[rows]
    different = np.unique(np.stack([of_user, members.documents[rows]]), axis=1)
    each, documents = np.unique(different[0], return_counts=True)
    found: LongArray = documents[np.searchsorted(each, of_user)]
    return found


def holding(some: BoolArray, offsets: LongArray, ids: IntArray) -> BoolArray:
    """[n] whether the words ids[offsets[i] : offsets[i + 1]] hold one of `some` [lexicon]."""
    found: BoolArray = row_sums(some[ids], offsets) > 0
    return found


def _documents_in_s(trie: Trie, nodes: IntArray, counted: CountedSequences) -> LongArray:
    """[n] how many documents of D the sequences of some nodes come out of."""
    offsets, ids = trie.sequences(nodes)
    return counted.documents_in_s(counted.trie.find(ids, offsets))


def _as_users(corpus: Corpus) -> Iterator[Documents]:
    """The held-out documents, each as if it were a user's only one."""
    done = 0
    for chunk in corpus.documents(VALIDATION):
        numbers = np.arange(done, done + len(chunk), dtype=np.int32)
        yield replace(chunk, users=numbers)
        done += len(chunk)


def _of_others(corpus: Corpus, trained: BoolArray, users: IntArray | None) -> float:
    """The share of held-out words, of `users` or of all, whose users are not `trained` [users]."""
    words, others = 0, 0
    for chunk in corpus.documents(VALIDATION):
        lengths = chunk.lengths()
        if users is not None:
            lengths = lengths * np.isin(chunk.users, users)
        words += int(lengths.sum())
        others += int(lengths[~trained[chunk.users]].sum())
    return others / words if words else 0.0
