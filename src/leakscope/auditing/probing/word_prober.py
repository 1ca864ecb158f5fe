"""What a word-level model suggests after a prefix."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from leakscope.auditing.probing.probe_answers import Probe, Suggestion
from leakscope.corpus.words import words
from leakscope.models.interface import Distribution
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.models.word.word_model import MARK
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.documents import BoolArray
from leakscope.records.errors import LeakscopeError


class WordProber:
    """A word-level model that is asked again and again, behind a block list if there is one."""

    def __init__(self, model: Path, block_list: Path | None = None) -> None:
        self._lowercase = load_config(model).lowercase
        self._model = load_model(model)
        self._known = frozenset(self._model.vocabulary)
        self._blocked: BlockedModel | None = None
        if block_list is not None:
            loaded = BlockList.load(block_list)
            if self._lowercase and not loaded.lowercase:
                raise LeakscopeError(
                    f"The words of {block_list} are not lower-cased, those of the model are; make "
                    f"the list from the corpus that the model was trained on."
                )
            self._blocked = BlockedModel(self._model, loaded)

    def __call__(self, text: str, *, top_k: int = 5, length: int = 20) -> Probe:
        """Top k and greedy continuation of at most `length` words."""
        prefix = words(text, lowercase=self._lowercase)
        first, blocked = self._next(prefix)
        order = _left(first, blocked, top_k)
        suggestions = [
            Suggestion(first.entries[i], math.exp(first.log_probs[i]), i < first.words)
            for i in order
        ]
        hidden = _above(first, blocked, order[-1])
        continuation: list[str] = []
        total, avoided = 0.0, 0
        after = first
        while len(continuation) < length:
            best = _left(after, blocked, 1)[0]
            avoided += _above(after, blocked, best)
            if after.entries[best] == MARK and best >= after.words:
                break
            total += float(after.log_probs[best])
            continuation.append(after.entries[best])
            after, blocked = self._next(prefix + continuation)
        unknown = [word not in self._known for word in prefix]
        found = Probe(
            prefix,
            unknown,
            suggestions,
            continuation,
            math.exp(total),
            prompt=" ".join(prefix),
            text=" ".join(continuation),
        )
        if self._blocked is None:
            return found
        return replace(found, hidden=hidden, avoided=avoided)

    def _next(self, prefix: Sequence[str]) -> tuple[Distribution, BoolArray]:
        """The model's own distribution, and which of its entries are blocked."""
        after = self._model.next(prefix)
        if self._blocked is None:
            return after, np.zeros(len(after.entries), np.bool_)
        return after, self._blocked.hides(prefix)


def _left(after: Distribution, blocked: BoolArray, count: int) -> list[int]:
    """The `count` most probable entries that are not blocked; marks never are."""
    order = after.order(count + int(blocked.sum()))
    return [index for index in order if not blocked[index]][:count]


def _above(after: Distribution, blocked: BoolArray, entry: int) -> int:
    """How many blocked entries come before `entry`."""
    if not blocked.any():
        return 0
    order = after.order(len(after.entries))
    return int(blocked[order[: order.index(entry)]].sum())
