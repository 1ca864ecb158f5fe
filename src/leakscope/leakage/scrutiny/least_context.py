"""How little of its context brings a unique sequence out, and whether other contexts do too."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscope.corpus.words import spans
from leakscope.leakage.counts.trie_parts import TrieParts
from leakscope.leakage.sequences.distinct import Contexts, Examples, Sequences, contexts
from leakscope.leakage.sequences.members import Members
from leakscope.models.interface import LanguageModel
from leakscope.records.documents import BoolArray, Documents, IntArray, LongArray
from leakscope.records.ragged import offsets_of

PROMPTS = 20_000  # scored at a time

TriedPrompt = tuple[tuple[int, ...], int, str | None]
"""Lexicon ids of a context with the sequence after it, how many of them are the sequence, and the
text that they come from, for models that read texts (None: the words and single spaces)."""


def comes_out(model: LanguageModel, prompts: Sequence[TriedPrompt], top_k: int) -> BoolArray:
    """[n] whether the model predicts every word of the sequence after the context."""
    found = np.zeros(len(prompts), np.bool_)
    for low in range(0, len(prompts), PROMPTS):
        part = prompts[low : low + PROMPTS]
        documents = Documents.of([(0, ids) for ids, _, _ in part])
        texts = [text for _, _, text in part if text is not None]
        if len(texts) == len(part):
            documents = replace(documents, texts=texts)
        missed = model.score(documents, top_k=top_k).rank >= top_k
        misses = offsets_of(missed)
        ends = documents.offsets[1:]
        sizes = np.array([size for _, size, _ in part])
        found[low : low + len(part)] = misses[ends] == misses[ends - sizes]
    return found


@dataclass(frozen=True)
class LeastContexts:
    """The least context of each of s sequences."""

    words: IntArray
    """[s] words of the shortest suffix of a context after which the whole sequence comes out; 0:
    it needs no context; -1: not measured."""
    exact: BoolArray
    """[s] every shorter suffix of every context was tried; otherwise it is an upper bound."""


@dataclass(frozen=True)
class _Tail:
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
        self.found: dict[int, _Tail] = {}
        """By the place of the occurrence among those chosen; empty if there are no texts."""

    def watch(self, corpus: Iterable[Documents]) -> Iterator[Documents]:
        for documents in corpus:
            if documents.texts is not None:
                for index, number in enumerate(documents.numbers.tolist()):
                    for place in self._wanted.get(number, ()):
                        self.found[place] = self._cut(documents.texts[index], place)
            yield documents

    def _cut(self, text: str, place: int) -> _Tail:
        start, stop = int(self._starts[place]), int(self._stops[place])
        edges = spans(text)
        first = max(0, start - self._most)
        begin = edges[first][0]
        begins = tuple(edges[at][0] - begin for at in range(first, start + 1))
        return _Tail(text[begin : edges[stop - 1][1]], begins)


class SpelledSequences:
    """Some unique sequences with their words and the ends of their contexts, in memory."""

    def __init__(
        self,
        rows: LongArray,
        members: Members,
        sequences: Sequences,
        chosen: Examples,
        trie: TrieParts,
        corpus: Iterable[Documents],
        most: int,
    ) -> None:
        """`rows` [u] are rows of `sequences`, `chosen` lists their occurrences; `most` words of
        each context are kept.
        """
        self.rows = rows
        self.all_listed = np.diff(chosen.offsets)[rows] == sequences.total_in_s[rows]
        picked = [chosen.members[chosen.offsets[r] : chosen.offsets[r + 1]] for r in rows]
        sizes = np.array([len(part) for part in picked], np.int64)
        flat = np.concatenate([np.zeros(0, np.int64), *picked]).astype(np.int64)
        offsets = offsets_of(sizes)
        self._examples = Examples(offsets, flat)
        tails = _Tails(members, flat, most)
        self._contexts: Contexts = contexts(members, self._examples, tails.watch(corpus), most)
        self._tails = tails.found
        self.starts = members.starts[flat]
        spelled, ids = trie.sequences(sequences.nodes[rows])
        self.words = [tuple(ids[spelled[i] : spelled[i + 1]].tolist()) for i in range(len(rows))]
        self.owners = members.users[flat[offsets[:-1]]] if len(rows) else np.zeros(0, np.int32)

    def examples(self, index: int) -> list[tuple[int, tuple[int, ...]]]:
        """(length of the whole context, the words kept of it) of each listed occurrence."""
        low, high = self._examples.offsets[index], self._examples.offsets[index + 1]
        places = self._contexts.offsets
        return [
            (int(self.starts[j]), tuple(self._contexts.ids[places[j] : places[j + 1]].tolist()))
            for j in range(low, high)
        ]

    def suffixes(self, index: int, length: int) -> list[TriedPrompt]:
        """The last `length` words of every listed context that is longer, and the sequence."""
        first = int(self._examples.offsets[index])
        words = self.words[index]
        return [
            (
                context[len(context) - length :] + words,
                len(words),
                self._tails[first + at].text(length) if self._tails else None,
            )
            for at, (start, context) in enumerate(self.examples(index))
            if start > length
        ]


def least_contexts(
    model: LanguageModel, unique: SpelledSequences, top_k: int, most: int
) -> LeastContexts:
    """Try suffixes of 0, 1, 2, ... words, at most `most`, of every listed context, until the
    sequence comes out. At the full length of the shortest context it does: that was measured.
    """
    size = len(unique.rows)
    starts = [[start for start, _ in unique.examples(i)] for i in range(size)]
    limit = np.array([min(each) for each in starts], np.int32)
    words, exact = limit.copy(), (limit <= most) & unique.all_listed
    due = list(range(size))
    for length in range(most + 1):
        due = [i for i in due if limit[i] > length]
        asked: dict[TriedPrompt, list[int]] = {}
        for i in due:
            for prompt in unique.suffixes(i, length):
                asked.setdefault(prompt, []).append(i)
        if not asked:
            break
        out = comes_out(model, list(asked), top_k)
        done = {i for hit, who in zip(out, asked.values(), strict=True) if hit for i in who}
        for i in done:
            words[i], exact[i] = length, unique.all_listed[i] or length == 0
        due = [i for i in due if i not in done]
    return LeastContexts(words.astype(np.int32), exact)
