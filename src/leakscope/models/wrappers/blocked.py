"""A word-level model behind a block list: blocked words are taken out of its suggestions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leakscope.models.interface import Distribution, NextWords, Prefix
from leakscope.models.word.carried_words import best_words
from leakscope.models.word.word_model import WordModel
from leakscope.models.wrappers.blocked_continuations import BlockedContinuations
from leakscope.records.block_lists.block_list import BlockList, HashArray
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)
from leakscope.records.ragged import within_rows

EXTRA = 8  # candidates asked for beyond k at first
BEFORE = 1 << 22  # hashes of words before a position held at a time
CLOSE = 1e-3
"""Log-probabilities that differ by less than this (or the network's noise, if that is more) times
(1 + their size) are settled in float64: far more than noise, since the logits are larger."""


@dataclass(frozen=True)
class BlockedModel:
    """A `LanguageModel` that never suggests a word which completes a blocked n-gram with the words
    before it in the document, typed or suggested. What comes after it in the order moves up;
    marks keep their places; probabilities stay those of the model.
    """

    model: WordModel
    """Reads documents numbered by the lexicon of `words`."""
    block_list: BlockList
    words: Sequence[str] = ()
    """The lexicon's words; `next` alone does without."""

    @cached_property
    def _entries(self) -> HashArray:
        """[entries] the hash of each entry of the model, 0 for marks."""
        hashes = self.block_list.word_hashes(self.model.vocabulary)
        return np.concatenate([hashes, np.zeros(2, np.uint64)])

    @cached_property
    def _lexicon(self) -> HashArray:
        """[lexicon] the hash of each word of the documents."""
        return self.block_list.word_hashes(self.words)

    def hides(self, prefix: Sequence[str]) -> BoolArray:
        """[entries] which entries are not suggested after `prefix`."""
        said = self.block_list.word_hashes(prefix[-max(self.block_list.longest - 1, 1) :])
        found = self.block_list.blocked(said[None, ::-1], self._entries[None])
        return found[0]  # type: ignore[no-any-return]

    def next(self, prefix: Prefix) -> Distribution:
        """The model's distribution after `prefix`, minus infinity for blocked entries."""
        after = self.model.next(prefix)
        return replace(after, log_probs=np.where(self.hides(prefix), -np.inf, after.log_probs))

    def begin(self, prefixes: Sequence[Prefix]) -> BlockedContinuations:
        """See `LanguageModel.begin`: minus infinity for blocked entries, as `next`."""
        reach = max(self.block_list.longest - 1, 0)
        said = np.zeros((len(prefixes), reach), np.uint64)
        for row, prefix in enumerate(prefixes if reach else ()):
            hashes = self.block_list.word_hashes(prefix[-reach:])[::-1]
            said[row, : len(hashes)] = hashes
        return BlockedContinuations(
            self.model.begin(prefixes), self.block_list, self._entries, said
        )

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`: the best of what is left."""
        return best_words(self.begin, prefixes, count)

    def hidden_states(self, documents: Documents) -> FloatArray | None:
        """See `LanguageModel.hidden_states`: the model's own."""
        return self.model.hidden_states(documents)

    @property
    def needs_text(self) -> bool:
        """See `LanguageModel.needs_text`."""
        return self.model.needs_text

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`."""
        return self.model.knows(ids)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`. Where nothing near the top is blocked, the answer is the
        model's own; elsewhere the rank is among what is left, and the top entry the first of it.
        """
        plain = self.model.score(documents, top_k=top_k, every_probability=every_probability)
        sheet = _BlockedSheet(plain, self._labels(documents), top_k, every_probability)
        slack = max(CLOSE, self.model.network.noise)
        close = self._take(sheet, documents, np.arange(len(documents)), self.model, slack)
        if len(close):
            self._take(sheet, documents, close, self.model.precise, slack)
        return sheet.scores()

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`: the model's own."""
        return self.model.log_probs(documents, wanted)

    def _labels(self, documents: Documents) -> IntArray:
        """[w] the entry of every word; -1 for those that the model does not know."""
        entries = self.model.entries(documents).astype(np.int32)
        return np.where(entries == self.model.unknown, np.int32(-1), entries)

    def _take(
        self,
        sheet: "_BlockedSheet",
        documents: Documents,
        due: LongArray,
        model: WordModel,
        slack: float,
    ) -> LongArray:
        """Take the answers of `model` at the words of documents `due` where something is blocked.
        Gives the documents with an answer that hangs on less than `slack`.
        """
        count, close = sheet.k + EXTRA, [np.zeros(0, np.int64)]
        while len(due):
            part, places = documents.take(due), documents.places(due)
            owners = np.repeat(due, part.lengths())
            entries, log_probs = model.candidates(part, count)
            hidden = self._hidden(part, entries)
            # One more than k, so that the last one's rival is there too.
            enough = (~hidden).sum(1) > sheet.k
            if count >= len(self._entries):
                enough[:] = True
            rows = np.flatnonzero(hidden.any(1) & enough)
            tight = sheet.take(places[rows], entries[rows], log_probs[rows], hidden[rows], slack)
            close.append(owners[rows[tight]])
            due, count = np.unique(owners[~enough]), 4 * count
        return np.unique(np.concatenate(close))

    def _hidden(self, documents: Documents, entries: IntArray) -> BoolArray:
        """[w, c] which of the candidates at each word are blocked."""
        words = self._lexicon[documents.ids]
        reach = max(self.block_list.longest - 1, 0)
        spoken = within_rows(documents.lengths())
        hidden = np.zeros(entries.shape, np.bool_)
        rows = max(1, BEFORE // max(reach, entries.shape[1]))
        for low in range(0, len(words), rows):
            here = np.arange(low, min(low + rows, len(words)))
            before = np.zeros((len(here), reach), np.uint64)
            for back in range(1, reach + 1):
                there = np.flatnonzero(spoken[here] >= back)
                before[there, back - 1] = words[here[there] - back]
            hidden[here] = self.block_list.blocked(before, self._entries[entries[here]])
        return hidden


class _BlockedSheet:
    """The plain model's answers, being corrected where something is blocked."""

    def __init__(self, plain: Scores, labels: IntArray, k: int, every: bool) -> None:
        self.k = k
        self._labels, self._every = labels, every
        self._rank, self._near_tie = plain.rank.copy(), plain.near_tie.copy()
        self._log_prob, self._top = plain.log_prob.copy(), plain.top_log_prob.copy()

    def take(
        self,
        places: LongArray,
        entries: IntArray,
        log_probs: FloatArray,
        hidden: BoolArray,
        slack: float,
    ) -> LongArray:
        """Answer at `places` [m] by candidates [m, c] of which some are `hidden`. Gives those of
        the m whose label may be in the top k or not, depending on less than `slack`.
        """
        rows = np.arange(len(places))
        match = (entries == self._labels[places][:, None]) & ~hidden
        at = match.argmax(1)
        own = np.where(match.any(1), log_probs[rows, at], np.nan)
        left = np.where(hidden, -np.inf, log_probs)
        rank = np.where(match.any(1), (~hidden).cumsum(1)[rows, at] - 1, self.k)
        room = slack * (1 + np.abs(own))
        above = (left > (own + room)[:, None]).sum(1)
        rivals = (left >= (own - room)[:, None]).sum(1) - above - 1  # without the label itself
        tight = match.any(1) & (above < self.k) & (rivals > 0)
        correct = rank < self.k
        self._rank[places] = np.minimum(rank, self.k)
        self._near_tie[places] = tight
        if not self._every:
            self._log_prob[places] = np.where(correct, own, np.nan)
        self._top[places] = np.where(correct | self._every, left.max(1, initial=-np.inf), np.nan)
        return np.flatnonzero(tight)

    def scores(self) -> Scores:
        """The finished answers."""
        return Scores(self._rank, self._log_prob, self._top, self._near_tie)
