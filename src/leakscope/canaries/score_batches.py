"""Texts of a random space, scored in batches, each of which can be kept.

A word-level model reads every distinct prefix of a batch once: samples that begin alike share what
they have in common. Models with a tokenizer read texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.canaries.random_space import RandomSpace
from leakscope.models.carried_prefixes import CarriedPrefixes
from leakscope.models.interface import Continuations, LanguageModel
from leakscope.records.artifacts import digest_of_columns
from leakscope.records.documents import Documents, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of

Floats = npt.NDArray[np.float64]

TEXTS, SEQUENCES, PREFIXES = 2048, 4096, 1024


def score_batches(
    model: LanguageModel, space: RandomSpace, rows: LongArray, stage: str = "score"
) -> "ScoreBatches":
    """The batches in which `surprise_of` scores."""
    if model.needs_text:
        return ScoreBatches(stage, _Texts(model, space, rows), _cut(np.arange(len(rows)), TEXTS))
    start = model.begin([()])
    entries = _entries(space, rows, {word: at for at, word in enumerate(start.entries)})
    order = np.lexsort(entries.T[::-1])
    return ScoreBatches(stage, _Prefixes(start, entries), _cut(order, SEQUENCES))


def _cut(order: LongArray, size: int) -> tuple[LongArray, ...]:
    return tuple(order[begin : begin + size] for begin in range(0, len(order), size))


class _Reader(Protocol):
    """Reads some of the texts."""

    def logs(self, mine: LongArray) -> Floats:
        """The natural logarithms of their probabilities."""
        ...

    def digest(self, mine: LongArray) -> str:
        """Of what is read."""
        ...


@dataclass(frozen=True)
class ScoreBatches:
    """The `Chunks` of scoring. Each batch is read as if it were alone, so that results do not
    depend on which of them were kept.
    """

    name: str
    reader: _Reader
    rows: tuple[LongArray, ...]
    """Of each batch, which of the texts are in it."""
    schema: ClassVar[pa.Schema] = pa.schema([("surprise", pa.float64())])

    @property
    def sizes(self) -> list[int]:
        """Texts in each batch."""
        return [len(mine) for mine in self.rows]

    def digests(self) -> list[str]:
        """See `Chunks`."""
        return [self.reader.digest(mine) for mine in self.rows]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        return self._scored

    def _scored(self, index: int) -> pa.RecordBatch:
        logs = self.reader.logs(self.rows[index])
        if np.isnan(logs).any():
            raise LeakscopeError(
                "The model gives log-probabilities that are not numbers (NaN), so nothing can be "
                "measured; check its weights and --dtype."
            )
        return pa.record_batch([logs / -np.log(2)], schema=self.schema)


@dataclass(frozen=True)
class _Texts:
    """For models that read texts."""

    model: LanguageModel
    space: RandomSpace
    places: LongArray

    def logs(self, mine: LongArray) -> Floats:
        """See `_Reader`."""
        texts, length = self.space.texts(self.places[mine]), len(self.space.columns)
        logs = self.model.log_probs(
            documents_of(texts, [length] * len(texts)), np.ones(length * len(texts), np.bool_)
        )
        sums: Floats = logs.astype(np.float64).reshape(len(texts), length).sum(1)
        return sums

    def digest(self, mine: LongArray) -> str:
        """See `_Reader`."""
        words = np.array([len(self.space.columns)])
        return digest_of_columns(words, texts=self.space.texts(self.places[mine]))


@dataclass(frozen=True)
class _Prefixes:
    """For word-level models, which read each distinct prefix of a batch once."""

    begin: Continuations
    entries: LongArray
    """[n, words]"""

    def logs(self, mine: LongArray) -> Floats:
        """See `_Reader`: `mine` are in lexicographic order."""
        return _of_sorted(self.begin, self.entries[mine])

    def digest(self, mine: LongArray) -> str:
        """See `_Reader`."""
        return digest_of_columns(np.array([self.entries.shape[1]]), self.entries[mine].ravel())


def documents_of(texts: Sequence[str], lengths: Sequence[int]) -> Documents:
    """Texts as documents without a user, for models that read texts."""
    sizes = np.array(lengths, np.int64)
    return Documents(
        np.zeros(len(texts), np.int32),
        np.arange(len(texts), dtype=np.int64),
        offsets_of(sizes),
        np.zeros(int(sizes.sum()), np.int32),
        list(texts),
    )


def _entries(space: RandomSpace, rows: LongArray, numbers: dict[str, int]) -> LongArray:
    """[n, words] the model's entry of every word."""
    found = np.zeros((len(rows), len(space.columns)), np.int64)
    for at, column in enumerate(space.columns):
        if isinstance(column, str):
            found[:, at] = numbers[column]
        else:
            known = np.array([numbers[word] for word in space.choices[column]], np.int64)
            found[:, at] = known[rows[:, column]]
    return found


def _of_sorted(start: Continuations, entries: LongArray) -> Floats:
    """[n] the log-probabilities of sequences [n, words] in lexicographic order."""
    total = np.zeros(len(entries))
    state, prefix = start, np.zeros(len(entries), np.int64)  # of each sequence, its row of `state`
    for place in range(entries.shape[1]):
        labels = entries[:, place]
        total += _logs_at(state, prefix, labels)
        if place + 1 < entries.shape[1]:
            new = np.ones(len(entries), np.bool_)
            new[1:] = (prefix[1:] != prefix[:-1]) | (labels[1:] != labels[:-1])
            firsts = np.flatnonzero(new)
            state = state.extended(prefix[firsts], labels[firsts])
            prefix = np.cumsum(new) - 1
    return total


def _logs_at(state: Continuations, rows: LongArray, labels: LongArray) -> Floats:
    """[n] the log-probabilities of `labels` [n] after the prefixes at `rows` [n], which rise."""
    if isinstance(state, CarriedPrefixes):
        return state.log_probs_at(rows, labels).astype(np.float64)
    found = np.zeros(len(rows))
    for low in range(0, len(state), PREFIXES):
        high = min(low + PREFIXES, len(state))
        first, last = np.searchsorted(rows, [low, high])
        logs = state.log_probs(np.arange(low, high))
        mine = slice(int(first), int(last))
        found[mine] = logs[rows[mine] - low, labels[mine]]
    return found
