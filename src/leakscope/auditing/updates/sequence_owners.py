"""Whose a sequence is: occurrences and distinct users in the old data, the new data and the
difference of both, by the counting of the report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.auditing.updates.added_documents import added_documents
from leakscope.auditing.updates.counted_shards import CountedShards, summed
from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.store import Corpus
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.leakage.counts.counting import Counts, count
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import BoolArray, Documents, IntArray, LongArray
from leakscope.records.ragged import offsets_of
from leakscope.records.unique import is_unique


@dataclass(frozen=True)
class SequenceCounts:
    """Of s sequences in some documents."""

    total: LongArray
    users: LongArray


@dataclass(frozen=True)
class UpdateCounts:
    """Of s sequences in all data of an update. Without an old corpus, nothing is known of it."""

    old: SequenceCounts | None
    new: SequenceCounts
    difference: SequenceCounts
    owners: list[str | None]
    """[s] the user of the difference, for those that belong to one."""

    @property
    def one_user(self) -> BoolArray:
        """[s] whether one user of the difference has it, and nobody in the old data."""
        return one_user(self.old, self.difference)


def one_user(old: SequenceCounts | None, difference: SequenceCounts) -> BoolArray:
    """[s] see `UpdateCounts.one_user`: nothing but the update can have taught it."""
    alone = is_unique(difference.users)
    return alone if old is None else np.logical_and(alone, old.total == 0)


def count_owners(
    old: Corpus | None,
    new: Corpus,
    sequences: Sequence[Sequence[str]],
    kept: KeptChunks = NOWHERE,
) -> UpdateCounts:
    """Count sequences of at least one word each; what is `kept` is not counted again."""
    added = added_documents(old, new, kept)
    before = None if old is None else _in_corpus(old, sequences, kept)
    found = _in_documents(added, new.lexicon, sequences)
    mine = one_user(before, found)
    keys = {
        number: key for shard in new.shards for number, key in shard.user_keys().items()
    } if mine.any() else {}  # fmt: skip
    users = first_owners(added, new.lexicon, sequences, np.flatnonzero(mine))
    owners = [keys[users[row]] if row in users else None for row in range(len(sequences))]
    return UpdateCounts(before, _in_corpus(new, sequences, kept), found, owners)


def _in_corpus(
    corpus: Corpus, sequences: Sequence[Sequence[str]], kept: KeptChunks
) -> SequenceCounts:
    def counted(trie: Trie) -> Counts:
        return summed(kept.made(CountedShards.of(corpus, trie)), trie)

    return _count(corpus.lexicon, sequences, counted)


def _in_documents(
    documents: Documents, lexicon: Lexicon, sequences: Sequence[Sequence[str]]
) -> SequenceCounts:
    return _count(lexicon, sequences, lambda trie: count(trie, [[documents]]))


def _count(
    lexicon: Lexicon, sequences: Sequence[Sequence[str]], counted: Callable[[Trie], Counts]
) -> SequenceCounts:
    """A sequence with a word that the corpus does not have stands nowhere in it."""
    rows, ids = _known(lexicon, sequences)
    total, users = np.zeros((2, len(sequences)), np.int64)
    if rows:
        trie = Trie.empty(len(lexicon))
        offsets = offsets_of(np.array([len(each) for each in ids], np.int64))
        nodes = trie.insert(np.concatenate(ids), offsets)
        found = counted(trie)
        total[rows], users[rows] = found.total[nodes], found.users[nodes]
    return SequenceCounts(total, users)


def first_owners(
    documents: Documents, lexicon: Lexicon, sequences: Sequence[Sequence[str]], rows: LongArray
) -> dict[int, int]:
    """The number of the first user who has each of the sequences at `rows`."""
    known, ids = _known(lexicon, [sequences[row] for row in rows.tolist()])
    order = np.argsort(documents.ids, kind="stable")
    ordered = documents.ids[order]
    found = {}
    for index, said in zip(known, ids, strict=True):
        first = _first_place(documents, said, order, ordered)
        if first is not None:
            found[int(rows[index])] = first
    return found


def _first_place(
    documents: Documents, said: IntArray, order: LongArray, ordered: IntArray
) -> int | None:
    """The user of the first document that has a sequence; `order` sorts the documents' words."""
    low, high = (
        np.searchsorted(ordered, said[0], "left"),
        np.searchsorted(ordered, said[0], "right"),
    )
    starts = order[low:high]
    starts = starts[starts + len(said) <= len(documents.ids)]
    for place in range(1, len(said)):
        starts = starts[documents.ids[starts + place] == said[place]]
    homes = np.searchsorted(documents.offsets, starts, side="right") - 1
    whole = homes[starts + len(said) <= documents.offsets[homes + 1]]
    return int(documents.users[whole[0]]) if len(whole) else None


def _known(
    lexicon: Lexicon, sequences: Sequence[Sequence[str]]
) -> tuple[list[int], list[IntArray]]:
    """(rows, ids of each) of the sequences whose words the lexicon has."""
    rows, found = [], []
    for row, words in enumerate(sequences):
        ids = [lexicon.ids.get(word) for word in words]
        if ids and None not in ids:
            rows.append(row)
            found.append(np.array(ids, np.int32))
    return rows, found
