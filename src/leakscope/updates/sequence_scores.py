"""Scores of given sequences in words, from any two models: also with different tokenizers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.models.interface import LanguageModel, Prefix
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import BoolArray, Documents, FloatArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of
from leakscope.updates.score_rule import Floats, ScoreRule

AT_ONCE = 4096
"""Sequences that are read at a time."""


@dataclass(frozen=True)
class WordScores:
    """s sequences, w words in all: sequence i has words offsets[i] to offsets[i + 1]."""

    offsets: LongArray
    old: FloatArray
    new: FloatArray
    """[w] the probability of each word after those before it."""
    terms: Floats
    """[w] what each adds to the score of its sequence."""
    unknown: BoolArray
    """[s] whether neither model knows some word of the sequence, so that its score says nothing."""

    @property
    def scores(self) -> Floats:
        """[s] the sums."""
        return np.add.reduceat(self.terms, self.offsets[:-1]) if len(self.terms) else np.zeros(0)


def lexicon_for(sequences: Sequence[Sequence[str]], prefix: Prefix = ()) -> Lexicon:
    """The words of some sequences, for models to read them by."""
    words = dict.fromkeys(word for words in (prefix, *sequences) for word in words)
    zeros = np.zeros(len(words), np.int64)
    return Lexicon(list(words), zeros, zeros)


def score_words(
    old: LanguageModel,
    new: LanguageModel,
    lexicon: Lexicon,
    sequences: Sequence[Sequence[str]],
    rule: ScoreRule,
    prefix: Prefix = (),
    kept: KeptChunks = NOWHERE,
) -> WordScores:
    """Score sequences of at least one word each behind `prefix`; both models read `lexicon`. A word
    that a model does not know has probability 0 there. What is `kept` is not scored again.
    """
    if any(not words for words in sequences):
        raise LeakscopeError("A sequence without words has no score; leave it out.")
    offsets = offsets_of(np.array([len(words) for words in sequences], np.int64))
    ids = np.array([lexicon.ids[word] for words in sequences for word in words], np.int32)
    parts = tuple(sequences[at : at + AT_ONCE] for at in range(0, len(sequences), AT_ONCE))
    probabilities, known = [], []
    for which, model in (("old", old), ("new", new)):
        knows = model.knows(ids)
        knows = np.ones(len(ids), np.bool_) if knows is None else knows
        batches = WordBatches(which, model, lexicon, parts, rule, prefix)
        told = [each["probability"].to_numpy() for each in kept.made(batches)]
        found = np.concatenate([np.zeros(0), *told])
        probabilities.append(np.where(knows, found, np.float32(0)))
        known.append(knows)
    mine, theirs = probabilities
    strange = np.add.reduceat((~(known[0] | known[1])).astype(np.int64), offsets[:-1]) > 0
    terms = rule.terms(mine.astype(np.float64), theirs.astype(np.float64))
    return WordScores(offsets, mine, theirs, terms, strange)


@dataclass(frozen=True)
class WordBatches:
    """The `Chunks` of scoring: the probability of every word of some sequences at a time, as the
    attacker sees it.
    """

    which: str
    """old or new."""
    model: LanguageModel
    lexicon: Lexicon
    sequences: tuple[Sequence[Sequence[str]], ...]
    """Of each batch."""
    rule: ScoreRule
    prefix: Prefix
    name: str = "score words"
    schema: ClassVar[pa.Schema] = pa.schema([("probability", pa.float64())])

    def digests(self) -> list[str]:
        """See `Chunks`."""
        terms = [self.which, self.rule.top_k, list(self.prefix)]
        return [digest_of([*terms, [list(words) for words in some]]) for some in self.sequences]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        return self._batch

    def _batch(self, index: int) -> pa.RecordBatch:
        found = self._probabilities(self.sequences[index])
        if np.isnan(found).any():
            raise LeakscopeError(
                f"The {self.which} model's probabilities are not numbers (NaN); its weights are "
                "damaged, or its training has blown up."
            )
        return pa.record_batch([found.astype(np.float64)], schema=self.schema)

    def _probabilities(self, sequences: Sequence[Sequence[str]]) -> FloatArray:
        before = [self.lexicon.ids[word] for word in self.prefix]
        documents = Documents.of(
            [(0, [*before, *(self.lexicon.ids[word] for word in words)]) for words in sequences]
        )
        places = np.arange(len(documents.ids)) - np.repeat(
            documents.offsets[:-1], documents.lengths()
        )
        wanted = places >= len(before)
        if self.rule.top_k is None:
            told: FloatArray = np.exp(self.model.log_probs(documents, wanted))
            return told
        found = self.model.score(documents, top_k=self.rule.top_k, every_probability=True)
        seen = np.where(found.rank < self.rule.top_k, np.exp(found.log_prob), 0.0)
        return seen[wanted].astype(np.float32)
