"""A word-level model: a network, its vocabulary, and how it reads a corpus.

Entries 0 to V - 1 are words; V is `<unk>`, V + 1 the document mark, which is the input before
the first word and the label after the last.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.spilled_array import filled
from leakscope.models.carried_prefixes import CarriedPrefixes, Choices, read_prefixes
from leakscope.models.interface import Distribution, NextWords, Prefix
from leakscope.models.ranking.score_sheet import Labels, ScoreSheet
from leakscope.models.ranking.top_k import best, rank_early, rank_exact, rank_full
from leakscope.models.ranking.windows import Window, batches, first_input, windows
from leakscope.models.word.carried_words import WordCarrier, best_words
from leakscope.models.word.networks import Network, StateReader
from leakscope.models.word.word_entries import entries_on_demand, inputs_of
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)

UNKNOWN, MARK = "<unk>", "<doc>"
GPU_BATCH_WORDS = 16_384
FULL_ROWS = 1024  # positions at a time where the full softmax is asked for


@dataclass(frozen=True)
class WordModel:
    """A `LanguageModel` whose vocabulary is a list of words."""

    needs_text: ClassVar[bool] = False

    network: Network
    vocabulary: Sequence[str]
    lexicon_ids: IntArray | None = None
    """[lexicon] the entry of each lexicon id; None: ids are entries, V and over is `<unk>`."""
    batch_words: int | None = None
    """Words scored at a time, padding included; None: what suits the network and the device."""
    noise: float | None = None
    """How far apart two logits must be, relative to their size, to be told apart in float32; None:
    the worst case for networks of this kind."""

    @property
    def unknown(self) -> int:
        """The entry of `<unk>`."""
        return len(self.vocabulary)

    @property
    def mark(self) -> int:
        """The entry of the document mark."""
        return len(self.vocabulary) + 1

    @property
    def numbers(self) -> dict[str, int]:
        """The entry of each word."""
        return {word: entry for entry, word in enumerate(self.vocabulary)}

    def reading(self, lexicon: Lexicon) -> "WordModel":
        """This model, reading documents numbered by `lexicon`."""
        known = self.numbers
        entries = (known.get(word, self.unknown) for word in lexicon.words)
        return replace(self, lexicon_ids=np.fromiter(entries, np.int32, len(lexicon)))

    def entries(self, documents: Documents) -> LongArray:
        """[w] the entry of every word."""
        return self.entries_of(documents.ids)

    def entries_of(self, ids: IntArray) -> LongArray:
        """[w] the entries of words by their lexicon ids."""
        if self.lexicon_ids is not None:
            return self.lexicon_ids[ids].astype(np.int64)
        return np.minimum(ids, self.unknown).astype(np.int64)

    def _labels(self, documents: Documents) -> Labels:
        """[w] the same, for huge documents as they are asked for."""
        return entries_on_demand(documents.ids, self.entries_of)

    @torch.inference_mode()
    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`. Decisions within float noise are settled in float64, so that
        neither batches nor threads nor shards can change them.
        """
        sheet = ScoreSheet(documents.offsets, self._labels(documents), top_k)
        for places, hidden in self.states(documents, labels=sheet.labels):
            self._rank(sheet, places, hidden, every_probability)
        unsettled = sheet.unsettled()
        if unsettled:
            self.precise._settle(documents, sheet, unsettled)
        return sheet.scores()

    def knows(self, ids: IntArray) -> BoolArray:
        """[n] whether these lexicon ids are words of the vocabulary."""
        if self.lexicon_ids is not None:
            ids = self.lexicon_ids[ids]
        return np.less(ids, self.unknown)

    @torch.inference_mode()
    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`: the output layer is computed for these words alone."""
        labels = self._labels(documents)
        found = filled(np.float32, len(labels), np.nan)
        output = self.network.output
        for places, hidden in self.states(documents, labels=labels):
            asked = np.flatnonzero(wanted[places])
            for rows in np.split(asked, range(FULL_ROWS, len(asked), FULL_ROWS)):
                logits = output(hidden[self._tensor(rows)])
                mine = logits.gather(1, self._tensor(labels[places[rows]])[:, None]).squeeze(1)
                found[places[rows]] = (mine - torch.logsumexp(logits, 1)).cpu().numpy()
        return found[wanted]

    @torch.inference_mode()
    def candidates(self, documents: Documents, count: int) -> tuple[IntArray, FloatArray]:
        """(entries, log-probabilities), each [w, count]: the most probable entries at every word,
        marks included, in the order of `Distribution.order`; fewer if the model has fewer.
        """
        output, count = self.network.output, min(count, len(self.vocabulary) + 2)
        entries = np.zeros((len(documents.ids), count), np.int32)
        log_probs = np.zeros((len(documents.ids), count), np.float32)
        for places, hidden in self.states(documents):
            for rows in torch.split(torch.arange(len(places)), FULL_ROWS):
                found, logs = best(hidden[rows], output.weight, output.bias, count)
                entries[places[rows.numpy()]] = found.cpu().numpy()
                log_probs[places[rows.numpy()]] = logs.float().cpu().numpy()
        return entries, log_probs

    def states(
        self,
        documents: Documents,
        read: StateReader | None = None,
        *,
        labels: Labels | None = None,
    ) -> Iterator[tuple[LongArray, Tensor]]:
        """(places [m] among all words, hidden states [m, h] that predict them), batch by batch;
        every place comes once. Documents of like length are together. `read` is the network's
        own fast reader unless given; `labels` are the entries, if they are at hand.
        """
        labels = self._labels(documents) if labels is None else labels
        everything = [
            window
            for index, length in enumerate(documents.lengths().tolist())
            for window in windows(index, length, self.network.context)
        ]
        read = read or self.network.reader(len(labels))
        for batch in batches(everything, self._batch_words):
            yield from self._hidden(documents.offsets, labels, batch, read)

    @torch.inference_mode()
    def hidden_states(self, documents: Documents) -> FloatArray:
        """See `LanguageModel.hidden_states`: the states that predict the documents' ends."""
        labels = np.insert(self.entries(documents), documents.offsets[1:], self.mark)
        offsets = documents.offsets + np.arange(len(documents) + 1)
        ends = [
            Window(index, first_input(length, self.network.context), length, length + 1)
            for index, length in enumerate(documents.lengths().tolist())
        ]
        found = np.zeros((len(ends), self.network.architecture.hidden), np.float32)
        read = self.network.reader(len(labels))
        for batch in batches(ends, self._batch_words):
            for places, states in self._hidden(offsets, labels, batch, read):
                rows = np.searchsorted(offsets, places, side="right") - 1
                found[rows] = states.float().cpu().numpy()
        return found

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.output.weight.device

    @property
    def _batch_words(self) -> int:
        usual = self.network.batch_words if self.device.type == "cpu" else GPU_BATCH_WORDS
        return usual if self.batch_words is None else self.batch_words

    @property
    def _noise(self) -> float:
        return self.network.noise if self.noise is None else self.noise

    @property
    def precise(self) -> "WordModel":
        """The same model in float64, as its weights are now."""
        return replace(self, network=deepcopy(self.network).double())

    @torch.inference_mode()
    def next(self, prefix: Prefix) -> Distribution:
        """See `LanguageModel.next`; words are spelled as in the corpus."""
        inputs = self._inputs([prefix])[0]
        seen = inputs[first_input(len(prefix), self.network.context) :]
        *_, last = self.network.chunks(torch.tensor([seen], device=self.device))
        log_probs = torch.log_softmax(self.network.output(last[0, -1]), 0).cpu()
        choices = self._choices
        return Distribution(choices.entries, choices.words, log_probs.numpy())

    def begin(self, prefixes: Sequence[Prefix]) -> CarriedPrefixes:
        """See `LanguageModel.begin`."""
        carrier = WordCarrier(self.network, self._batch_words)
        return read_prefixes(carrier, self._choices, self._inputs(prefixes))

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`: entries are words, so this is exact."""
        return best_words(self.begin, prefixes, count)

    @property
    def _choices(self) -> Choices:
        entries = [*self.vocabulary, UNKNOWN, MARK]
        return Choices(entries, len(self.vocabulary), continuing=self.mark)

    def _inputs(self, prefixes: Iterable[Prefix]) -> list[list[int]]:
        """What the network reads of each prefix."""
        known = self.numbers
        return [
            [self.mark, *(known.get(word, self.unknown) for word in prefix)] for prefix in prefixes
        ]

    def _hidden(
        self, offsets: LongArray, labels: Labels, batch: list[Window], read: StateReader
    ) -> Iterator[tuple[LongArray, Tensor]]:
        """`states` of one batch of windows on documents that have `labels` from `offsets` on."""
        inputs = inputs_of(offsets, labels, batch, self.unknown, self.mark)
        begins = np.array([window.start - window.first for window in batch])[:, None]
        ends = np.array([window.stop - window.first for window in batch])[:, None]
        first_places = np.array([offsets[window.document] + window.first for window in batch])
        done = 0
        for states in read(torch.from_numpy(inputs).to(self.device)):
            # For these columns alone: the places of all of a huge document take much memory.
            here = np.arange(done, done + states.shape[1])
            rows, columns = np.nonzero((here >= begins) & (here < ends))
            places = first_places[rows] + here[columns]
            done += states.shape[1]
            yield places, states[self._tensor(rows), self._tensor(columns)]

    def _tensor(self, array: LongArray) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _rank(self, sheet: ScoreSheet, places: LongArray, hidden: Tensor, every: bool) -> None:
        labels = sheet.labels[places]
        output = self.network.output
        if every:
            for rows in torch.split(torch.arange(len(places)), FULL_ROWS):
                part = labels[rows.numpy()]
                ranked = rank_full(
                    hidden[rows],
                    output.weight,
                    output.bias,
                    self._tensor(part),
                    sheet.k,
                    self._noise,
                )
                sheet.fill(places[rows.numpy()], ranked, part == self.unknown)
            return
        known = np.flatnonzero(labels != self.unknown)  # `<unk>` is never correct: nothing to ask
        ranked = rank_early(
            hidden if len(known) == len(labels) else hidden[self._tensor(known)],
            output.weight,
            output.bias,
            self._tensor(labels[known]),
            sheet.k,
            self._noise,
        )
        sheet.fill(places[known], ranked, np.zeros(len(known), np.bool_))

    def _settle(self, documents: Documents, sheet: ScoreSheet, unsettled: list[int]) -> None:
        """Decide the near ties of some documents again; self is the float64 model."""
        output, lengths = self.network.output, documents.lengths()
        again = [
            cut
            for index in unsettled
            for window in windows(index, int(lengths[index]), self.network.context)
            if (cut := sheet.up_to_last_tie(window)) is not None
        ]
        for batch in batches(again, self._batch_words):
            for places, hidden in self._hidden(
                sheet.offsets, sheet.labels, batch, self.network.chunks
            ):
                due = np.flatnonzero(sheet.near_tie[places])
                for rows in np.split(due, range(FULL_ROWS, len(due), FULL_ROWS)):
                    labels = self._tensor(sheet.labels[places[rows]])
                    ranked = rank_exact(
                        hidden[self._tensor(rows)], output.weight, output.bias, labels, sheet.k
                    )
                    sheet.settle(places[rows], ranked)
