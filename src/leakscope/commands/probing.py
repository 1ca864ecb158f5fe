"""`probe`: what the model would suggest, as a curious user sees it."""

import math
from dataclasses import dataclass
from pathlib import Path

from leakscope.corpus.words import words
from leakscope.models.interface import LanguageModel
from leakscope.models.storage import load_config, load_model
from leakscope.models.wordlevel import MARK


@dataclass(frozen=True)
class Suggestion:
    """One entry of the top k."""

    entry: str
    probability: float
    is_word: bool
    """False for marks such as `<unk>`, which the attacker cannot use."""


@dataclass(frozen=True)
class Probe:
    """What came after one prefix."""

    prefix: list[str]
    unknown: list[bool]
    """Which words of the prefix the model does not know."""
    suggestions: list[Suggestion]
    continuation: list[str]
    """The top entry, taken again and again, up to the end of the document."""
    probability: float
    """Of the whole continuation."""


class Prober:
    """A model that is asked again and again."""

    def __init__(self, model: Path) -> None:
        self._lowercase = load_config(model).lowercase
        loaded = load_model(model)
        self._model: LanguageModel = loaded
        self._known = frozenset(loaded.vocabulary)

    def __call__(self, text: str, *, top_k: int = 5, length: int = 20) -> Probe:
        """Top k and greedy continuation of at most `length` words."""
        prefix = words(text, lowercase=self._lowercase)
        first = self._model.next(prefix)
        suggestions = [
            Suggestion(first.entries[i], math.exp(first.log_probs[i]), i < first.words)
            for i in first.order(top_k)
        ]
        continuation: list[str] = []
        total = 0.0
        after = first
        while len(continuation) < length:
            best = after.order(1)[0]
            if after.entries[best] == MARK and best >= after.words:
                break
            total += float(after.log_probs[best])
            continuation.append(after.entries[best])
            after = self._model.next(prefix + continuation)
        unknown = [word not in self._known for word in prefix]
        return Probe(prefix, unknown, suggestions, continuation, math.exp(total))


def probe(model: Path, text: str, *, top_k: int = 5, length: int = 20) -> Probe:
    """What `model` suggests after `text`."""
    return Prober(model)(text, top_k=top_k, length=length)
