"""Unique sequences with their words and the ends of their contexts, ready to be tried."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.words import spans
from leakscope.leakage.counts.trie_parts import TrieParts
from leakscope.leakage.sequences.distinct import Examples, Sequences, contexts
from leakscope.leakage.sequences.members import Members
from leakscope.records.artifacts import digest_of_columns
from leakscope.records.documents import BoolArray, Documents, IntArray, LongArray
from leakscope.records.ragged import offsets_of

TriedPrompt = tuple[tuple[int, ...], int, str | None]
"""Lexicon ids of a context with the sequence after it, how many of them are the sequence, and the
text that they come from, for models that read texts (None: the words and single spaces)."""


@dataclass(frozen=True)
class Tail:
    """The end of a document's text: a context and the sequence after it."""

    said: str
    begins: tuple[int, ...]
    """Where each kept word of the context begins in `said`, and the sequence after them."""

    def text(self, words: int) -> str:
        """The last `words` words of the context, and the sequence."""
        return self.said[self.begins[len(self.begins) - 1 - words] :]


class _Tails:
    """Cuts the tails of some occurrences out of texts as the documents stream by."""

    def __init__(self, members: Members, chosen: LongArray, most: int) -> None:
        self._wanted: dict[int, list[int]] = {}
        for place, member in enumerate(chosen.tolist()):
            self._wanted.setdefault(int(members.documents[member]), []).append(place)
        self._starts = members.starts[chosen]
        self._stops = self._starts + members.lengths[chosen]
        self._most = most
        self.found: dict[int, Tail] = {}
        """By the place of the occurrence among those chosen; empty if there are no texts."""

    def watch(self, corpus: Iterable[Documents]) -> Iterator[Documents]:
        for documents in corpus:
            if documents.texts is not None:
                for index, number in enumerate(documents.numbers.tolist()):
                    if places := self._wanted.get(number):
                        text = documents.texts[index]
                        edges = spans(text)
                        self.found |= {place: self._cut(text, edges, place) for place in places}
            yield documents

    def _cut(self, text: str, edges: list[tuple[int, int]], place: int) -> Tail:
        start, stop = int(self._starts[place]), int(self._stops[place])
        first = max(0, start - self._most)
        begin = edges[first][0]
        begins = tuple(edges[at][0] - begin for at in range(first, start + 1))
        return Tail(text[begin : edges[stop - 1][1]], begins)


@dataclass(frozen=True)
class SpelledSequences:
    """u unique sequences with e listed occurrences."""

    offsets: LongArray
    """[u + 1] sequence i has the occurrences offsets[i] to offsets[i + 1]."""
    all_listed: BoolArray
    """[u] whether these are all of its occurrences."""
    owners: IntArray
    """[u] the user whom it belongs to."""
    word_offsets: LongArray
    """[u + 1] it has the words word_ids[word_offsets[i] : word_offsets[i + 1]]."""
    word_ids: IntArray
    starts: IntArray
    """[e] words of the whole context."""
    context_offsets: LongArray
    """[e + 1] the last ones of them are context_ids[context_offsets[j] : ...[j + 1]]."""
    context_ids: IntArray
    tails: tuple[Tail, ...] = ()
    """[e] the same as texts; empty where there are none."""

    @staticmethod
    def spell(
        rows: LongArray,
        members: Members,
        sequences: Sequences,
        listed: Examples,
        trie: TrieParts,
        corpus: Iterable[Documents],
        most: int,
    ) -> "SpelledSequences":
        """`rows` [u] are rows of `sequences`, `listed` their occurrences; `most` words of each
        context are kept.
        """
        picked = [listed.members[listed.offsets[r] : listed.offsets[r + 1]] for r in rows]
        offsets = offsets_of(np.array([len(part) for part in picked], np.int64))
        flat = np.concatenate([np.zeros(0, np.int64), *picked]).astype(np.int64)
        tails = _Tails(members, flat, most)
        kept = contexts(members, Examples(offsets, flat), tails.watch(corpus), most)
        spelled, ids = trie.sequences(sequences.nodes[rows])
        return SpelledSequences(
            offsets=offsets,
            all_listed=np.diff(listed.offsets)[rows] == sequences.total_in_s[rows],
            owners=members.users[flat[offsets[:-1]]] if len(rows) else np.zeros(0, np.int32),
            word_offsets=spelled,
            word_ids=ids,
            starts=members.starts[flat],
            context_offsets=kept.offsets,
            context_ids=kept.ids,
            tails=tuple(tails.found[place] for place in range(len(flat))) if tails.found else (),
        )

    def __len__(self) -> int:
        return len(self.owners)

    def part(self, low: int, high: int) -> "SpelledSequences":
        """Those from `low` to `high`."""
        first, last = int(self.offsets[low]), int(self.offsets[high])
        words = slice(self.word_offsets[low], self.word_offsets[high])
        ids = slice(self.context_offsets[first], self.context_offsets[last])
        return SpelledSequences(
            self.offsets[low : high + 1] - first,
            self.all_listed[low:high],
            self.owners[low:high],
            self.word_offsets[low : high + 1] - self.word_offsets[low],
            self.word_ids[words],
            self.starts[first:last],
            self.context_offsets[first : last + 1] - self.context_offsets[first],
            self.context_ids[ids],
            self.tails[first:last],
        )

    def digest(self) -> str:
        """Of all of it."""
        begins = [np.array(tail.begins, np.int64) for tail in self.tails]
        return digest_of_columns(
            self.offsets,
            self.all_listed,
            self.word_offsets,
            self.word_ids,
            self.starts,
            self.context_offsets,
            self.context_ids,
            *begins,
            texts=[tail.said for tail in self.tails],
        )

    def words(self, index: int) -> tuple[int, ...]:
        """The words of a sequence."""
        low, high = self.word_offsets[index], self.word_offsets[index + 1]
        return tuple(self.word_ids[low:high].tolist())

    def examples(self, index: int) -> list[tuple[int, tuple[int, ...]]]:
        """(length of the whole context, the words kept of it) of each listed occurrence."""
        low, high = self.offsets[index], self.offsets[index + 1]
        places = self.context_offsets
        return [
            (int(self.starts[j]), tuple(self.context_ids[places[j] : places[j + 1]].tolist()))
            for j in range(low, high)
        ]

    def suffixes(self, index: int, length: int) -> list[TriedPrompt]:
        """The last `length` words of every listed context that is longer, and the sequence."""
        first, words = int(self.offsets[index]), self.words(index)
        return [
            (
                context[len(context) - length :] + words,
                len(words),
                self.tails[first + at].text(length) if self.tails else None,
            )
            for at, (start, context) in enumerate(self.examples(index))
            if start > length
        ]
