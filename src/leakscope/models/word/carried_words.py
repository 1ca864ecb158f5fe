"""How word-level models continue prefixes: the network's state, and the next words from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from leakscope.models.interface import Continuations, NextWords, Prefix
from leakscope.models.word.networks import Network


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


def best_words(prefixes: Sequence[Prefix], after: Continuations, count: int) -> list[NextWords]:
    """The most probable words after prefixes whose entries are words; those that an interface
    never shows are left out.
    """
    marks = len(after.entries) - after.words
    entries, logs = after.top(count + marks)
    found = []
    for prefix, row, values in zip(prefixes, entries, logs, strict=True):
        kept = np.flatnonzero((row < after.words) & np.isfinite(values))[:count]
        words = [after.entries[entry] for entry in row[kept].tolist()]
        tops = np.full(len(kept), values[0] if len(values) else np.nan, np.float32)
        texts = [f" {word}" if prefix else word for word in words]
        found.append(NextWords(words, texts, values[kept].astype(np.float32), tops, exact=True))
    return found
