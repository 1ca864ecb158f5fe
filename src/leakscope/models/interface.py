"""What leakscope asks of any language model: answers in words.

Three views of one model must agree: `score` and `log_probs` read whole documents, `next` and
`begin` continue them, `next_words` names what comes next. What a kind of model cannot tell is
None where that is said here; everything else that it cannot do raises a `LeakscopeError`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import (
    BoolArray,
    Documents,
    FloatArray,
    IntArray,
    LongArray,
    Scores,
)

Prefix = Sequence[str]
"""The first words of a document. A model with a tokenizer reads them joined by single spaces."""
LogProbs = npt.NDArray[np.floating]
"""Natural logarithms, in the precision that the model computes in."""


@dataclass(frozen=True)
class Distribution:
    """The next entry's probabilities after one prefix, over the model's whole vocabulary."""

    entries: Sequence[str]
    """[v] the spelling of each entry; marks such as `<unk>` included."""
    words: int
    """Entries below this index are words, or tokens that spell them; the others are marks, which
    are never correct."""
    log_probs: LogProbs
    """[v]; minus infinity for an entry that the interface never shows."""
    silent: bool = False
    """Whether the interface shows nothing here; the probabilities stay the model's own."""

    def order(self, count: int) -> list[int]:
        """The `count` most probable entries: greater first, equal ones by lower id."""
        best = np.argsort(-self.log_probs, kind="stable")[:count]
        return [int(index) for index in best]


class Continuations(Protocol):
    """n prefixes that a model has read, and the state in which that left it, so that they can go
    on without being read again. It never changes: what is longer is a new one.
    """

    @property
    def entries(self) -> Sequence[str]:
        """See `Distribution.entries`."""
        ...

    @property
    def words(self) -> int:
        """See `Distribution.words`."""
        ...

    def __len__(self) -> int:
        """n."""
        ...

    def log_probs(self, rows: LongArray | None = None) -> LogProbs:
        """[m, v] what `next` says after the prefixes at `rows` [m], or after all of them. Ask for
        a few rows at a time: this is the only large answer.
        """
        ...

    def top(self, count: int) -> tuple[LongArray, LogProbs]:
        """(entries, log-probabilities), each [n, count]: the most probable entries after each
        prefix, marks included, in the order of `Distribution.order`; fewer if the model has fewer.
        """
        ...

    def silent(self) -> BoolArray:
        """[n] see `Distribution.silent`."""
        ...

    def extended(self, rows: LongArray, entries: LongArray) -> "Continuations":
        """The prefixes at `rows` [m], each with one of `entries` [m] behind it; a row may come
        often, or never. Marks continue nothing, except for the `<unk>` of a word-level model.
        """
        ...


@dataclass(frozen=True)
class NextWords:
    """The most probable words after one prefix, at most as many as were asked for."""

    words: list[str]
    """The most probable first."""
    texts: list[str]
    """How each continues the prefix's text: the word, behind white space where there is some."""
    log_probs: FloatArray
    """What `score` says of the word where the document goes on so; NaN where it is not told."""
    top_log_probs: FloatArray
    """The same of `Scores.top_log_prob`."""
    exact: bool
    """Whether no other word is more probable than these; False: the search ended earlier, or
    could not see all words, so that they are only a lower bound."""


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

    def next(self, prefix: Prefix) -> Distribution:
        """The distribution of the entry after `prefix`. Raises where a model cannot tell it."""
        ...

    def begin(self, prefixes: Sequence[Prefix]) -> Continuations:
        """Read many prefixes at once, to look at what `next` says after each of them, and to go
        on from there. Raises where `next` does.
        """
        ...

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """The `count` most probable whole words after each prefix. Raises where a model cannot
        name even one.
        """
        ...

    def hidden_states(self, documents: Documents) -> FloatArray | None:
        """[n, h] the last layer's state after the last word of each document, with which the
        model would predict what follows; None: it has none, or does not show it.
        """
        ...
