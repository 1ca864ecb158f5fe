"""Confidence hardening: an interface that stays silent where the model is unsure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.models.interface import Distribution, LanguageModel
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, Scores


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

    def next(self, prefix: Sequence[str]) -> Distribution:
        """See `LanguageModel.next`: the model's own, which the interface may not show."""
        return self.model.next(prefix)
