"""What leakscope asks of any language model: answers in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, Scores


@dataclass(frozen=True)
class Distribution:
    """The next entry's probabilities after one prefix, over the model's whole vocabulary."""

    entries: Sequence[str]
    """[v] the spelling of each entry; marks such as `<unk>` included."""
    words: int
    """Entries below this index are words; the others are marks, which are never correct."""
    log_probs: npt.NDArray[np.floating]
    """[v] natural logarithms."""

    def order(self, count: int) -> list[int]:
        """The `count` most probable entries: greater first, equal ones by lower id."""
        best = np.argsort(-self.log_probs, kind="stable")[:count]
        return [int(index) for index in best]


class LanguageModel(Protocol):
    """A model that can be audited."""

    @property
    def needs_text(self) -> bool:
        """Whether documents must carry their original texts, for a tokenizer of its own."""
        ...

    def knows(self, ids: IntArray) -> BoolArray | None:
        """[n] whether these lexicon ids are words that it can say; None: it does not tell."""
        ...

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """Rank and log-probability of every word given the words before it in its document.

        Log-probabilities are given where the rank is below `top_k`, or everywhere when
        `every_probability` (which costs the full softmax; words that the model does not know
        then get the probability of `<unk>`, and never a rank below k).
        """
        ...

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """Log-probabilities of the words that are `wanted` [w], in their order; a word that the
        model does not know has the probability of `<unk>`, so that its true surprise is larger.
        """
        ...

    def next(self, prefix: Sequence[str]) -> Distribution:
        """The distribution of the word after `prefix`, itself the beginning of a document."""
        ...
