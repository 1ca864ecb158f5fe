"""Confidence hardening: an interface that stays silent where the model is unsure.

Probabilities stay the model's own everywhere; silence only says that the interface shows none of
it. So `score` says that no word is correct there, `next` and `begin` mark the place, and
`next_words` leaves the words out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscope.models.interface import (
    Continuations,
    Distribution,
    LanguageModel,
    LogProbs,
    NextWords,
    Prefix,
)
from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)


def is_silent(top_log_prob: FloatArray, threshold: float) -> BoolArray:
    """[w] whether 1 / p(top entry) exceeds `threshold`, so that nothing is suggested."""
    return np.less(top_log_prob, np.float32(-math.log(threshold)))


@dataclass(frozen=True)
class HardenedModel:
    """A `LanguageModel` with the threshold built in: where it is silent, no word is correct."""

    model: LanguageModel
    threshold: float

    @property
    def needs_text(self) -> bool:
        """See `LanguageModel.needs_text`."""
        return self.model.needs_text

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`."""
        return self.model.knows(ids)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`; probabilities stay the model's own."""
        plain = self.model.score(documents, top_k=top_k, every_probability=every_probability)
        silent = is_silent(plain.top_log_prob, self.threshold)
        return Scores(
            np.where(silent, top_k, plain.rank).astype(np.int32),
            plain.log_prob,
            plain.top_log_prob,
            plain.near_tie,
        )

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`."""
        return self.model.log_probs(documents, wanted)

    def next(self, prefix: Prefix) -> Distribution:
        """See `LanguageModel.next`: the model's own, marked where the interface is silent. A
        sub-word model's word is silent also where only its tokens together are unsure.
        """
        after = self.model.next(prefix)
        top = np.float32(after.log_probs.max(initial=-np.inf))
        return replace(after, silent=bool(is_silent(np.array([top]), self.threshold)[0]))

    def begin(self, prefixes: Sequence[Prefix]) -> "HardenedContinuations":
        """See `LanguageModel.begin`; marked as `next`."""
        return HardenedContinuations(self.model.begin(prefixes), self.threshold)

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`: those at which the interface is not silent."""
        return [_spoken(found, self.threshold) for found in self.model.next_words(prefixes, count)]

    def hidden_states(self, documents: Documents) -> FloatArray | None:
        """See `LanguageModel.hidden_states`: the model's own, which the interface hides."""
        return self.model.hidden_states(documents)


@dataclass(frozen=True)
class HardenedContinuations:
    """`Continuations` that say where the interface is silent."""

    plain: Continuations
    threshold: float

    @property
    def entries(self) -> Sequence[str]:
        """See `Continuations`."""
        return self.plain.entries

    @property
    def words(self) -> int:
        """See `Continuations`."""
        return self.plain.words

    def __len__(self) -> int:
        return len(self.plain)

    def log_probs(self, rows: LongArray | None = None) -> LogProbs:
        """See `Continuations`: the model's own."""
        return self.plain.log_probs(rows)

    def top(self, count: int) -> tuple[LongArray, LogProbs]:
        """See `Continuations`: the model's own."""
        return self.plain.top(count)

    def silent(self) -> BoolArray:
        """See `Continuations`."""
        _, logs = self.plain.top(1)
        return is_silent(logs[:, 0].astype(np.float32), self.threshold) | self.plain.silent()

    def extended(self, rows: LongArray, entries: LongArray) -> "HardenedContinuations":
        """See `Continuations`."""
        return HardenedContinuations(self.plain.extended(rows, entries), self.threshold)


def _spoken(found: NextWords, threshold: float) -> NextWords:
    """The words at which an interface with this threshold speaks."""
    kept = np.flatnonzero(~is_silent(found.top_log_probs, threshold))
    return NextWords(
        [found.words[at] for at in kept],
        [found.texts[at] for at in kept],
        found.log_probs[kept],
        found.top_log_probs[kept],
        found.exact,
    )
