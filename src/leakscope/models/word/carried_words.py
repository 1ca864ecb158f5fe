"""How word-level models continue prefixes: the network's state, and the next words from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from leakscope.models.interface import Continuations, NextWords, Prefix
from leakscope.models.word.networks import Network

PREFIXES = 1024
"""Prefixes read at a time where only their next words are asked for."""


@dataclass(frozen=True)
class WordCarrier:
    """A network as a `Carrier`."""

    network: Network
    batch_entries: int

    @property
    def context(self) -> int | None:
        """See `Carrier`."""
        return self.network.context

    @property
    def device(self) -> torch.device:
        """See `Carrier`."""
        return self.network.output.weight.device

    def read(self, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        return self.network.read(inputs)

    def step(self, carried: Any, rows: Tensor, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        return self.network.step(carried, rows, inputs)

    def logits(self, states: Tensor) -> Tensor:
        """See `Carrier`."""
        found: Tensor = self.network.output(states)
        return found


def best_words(
    begin: Callable[[Sequence[Prefix]], Continuations], prefixes: Sequence[Prefix], count: int
) -> list[NextWords]:
    """The most probable words after prefixes, by a model whose entries are words; those that its
    interface never shows are left out.
    """
    found: list[NextWords] = []
    for start in range(0, len(prefixes), PREFIXES):
        part = prefixes[start : start + PREFIXES]
        after = begin(part)
        marks = len(after.entries) - after.words
        entries, logs = after.top(count + marks)
        for prefix, row, values in zip(part, entries, logs, strict=True):
            kept = np.flatnonzero((row < after.words) & np.isfinite(values))[:count]
            words = [after.entries[entry] for entry in row[kept].tolist()]
            texts = [f" {word}" if prefix else word for word in words]
            tops = np.full(len(kept), values[0], np.float32)
            own = values[kept].astype(np.float32)
            found.append(NextWords(words, texts, own, tops, exact=True))
    return found
