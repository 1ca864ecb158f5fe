"""Several models as one: each answers for the users that are its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.models.interface import Continuations, Distribution, LanguageModel, NextWords, Prefix
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)
from leakscope.records.errors import LeakscopeError

NO_PREFIX = "Cross-fitted models cannot be probed; probe one of the folds."


@dataclass(frozen=True)
class ByUser:
    """A `LanguageModel` made of several."""

    models: Sequence[LanguageModel]
    part_of: Callable[[IntArray], IntArray]
    """From user numbers [n] to the indices of their models [n]."""

    @property
    def needs_text(self) -> bool:
        """See `LanguageModel.needs_text`: whether one of the models does."""
        return any(model.needs_text for model in self.models)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`."""
        size = len(documents.ids)
        rank, near_tie = np.full(size, top_k, np.int32), np.zeros(size, np.bool_)
        log_prob, top = np.full((2, size), np.nan, np.float32)
        for model, part, places in self._parts(documents):
            found = model.score(part, top_k=top_k, every_probability=every_probability)
            rank[places], near_tie[places] = found.rank, found.near_tie
            log_prob[places], top[places] = found.log_prob, found.top_log_prob
        return Scores(rank, log_prob, top, near_tie)

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`."""
        found = np.full(len(documents.ids), np.nan, np.float32)
        for model, part, places in self._parts(documents):
            asked = wanted[places]
            found[places[asked]] = model.log_probs(part, asked)
        return found[wanted]

    def knows(self, ids: IntArray) -> BoolArray | None:
        """[n] whether all of the models know these words; None: one of them does not tell."""
        known: BoolArray = np.ones(len(ids), np.bool_)
        for model in self.models:
            each = model.knows(ids)
            if each is None:
                return None
            known &= each
        return known

    def next(self, prefix: Prefix) -> Distribution:
        """Refused: a prefix has no user, so none of the models is the right one."""
        raise LeakscopeError(NO_PREFIX)

    def begin(self, prefixes: Sequence[Prefix]) -> Continuations:
        """Refused, as `next` is."""
        raise LeakscopeError(NO_PREFIX)

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """Refused, as `next` is."""
        raise LeakscopeError(NO_PREFIX)

    def hidden_states(self, documents: Documents) -> FloatArray | None:
        """See `LanguageModel.hidden_states`: each user's from its own model; None if one of them
        shows none, or if they have not the same size.
        """
        owner = self.part_of(documents.users)
        found: dict[int, FloatArray] = {}
        for index, model in enumerate(self.models):
            rows = np.flatnonzero(owner == index)
            if not len(rows):
                continue
            states = model.hidden_states(documents.take(rows))
            if states is None:
                return None
            found.update(zip(rows.tolist(), states, strict=True))
        if len({len(state) for state in found.values()}) > 1:
            return None
        return np.array([found[row] for row in range(len(documents))], np.float32)

    def _parts(self, documents: Documents) -> Iterator[tuple[LanguageModel, Documents, LongArray]]:
        """Each model with its documents and the places of their words among all."""
        owner = self.part_of(documents.users)
        lengths = documents.lengths()
        of_word = np.repeat(owner, lengths)
        for index, model in enumerate(self.models):
            rows = np.flatnonzero(owner == index)
            if len(rows):
                yield model, documents.take(rows), np.flatnonzero(of_word == index)
