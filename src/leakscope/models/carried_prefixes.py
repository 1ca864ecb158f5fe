"""Many prefixes read at once, the network's state carried from word to word.

Prefixes of one length are read together, without padding. Where the model's context is full the
window moves on by half of it, as `first_input` says: positions then count from another word, no
state can be carried over that, and the words in the window are read again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from leakscope.models.interface import LogProbs
from leakscope.models.ranking.logit_slices import slices
from leakscope.models.ranking.top_k import best_of
from leakscope.models.ranking.windows import first_input
from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.errors import LeakscopeError


class Carrier(Protocol):
    """A network that can go on from where it was; states [m, s] predict what follows."""

    @property
    def context(self) -> int | None:
        """The longest input; None: there is no limit."""
        ...

    @property
    def batch_entries(self) -> int:
        """How many inputs are read at a time."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    def read(self, inputs: Tensor) -> tuple[Tensor, Any]:
        """(states [n, s], what is carried) after `inputs` [n, t]."""
        ...

    def step(self, carried: Any, rows: Tensor, inputs: Tensor) -> tuple[Tensor, Any]:
        """The same after one more of `inputs` [m] behind `rows` [m]; `carried` does not change."""
        ...

    def logits(self, states: Tensor) -> Tensor:
        """[m, v] of states [m, s], by input id."""
        ...


@dataclass(frozen=True)
class Choices:
    """What a model chooses from."""

    entries: Sequence[str]
    words: int
    continuing: int
    """Entries below this may continue a prefix."""
    ids: LongArray | None = None
    """[v] the input id of each entry; None: entries are ids."""


@dataclass(frozen=True)
class _Group:
    """Prefixes with equally many inputs in view."""

    rows: LongArray
    """[g] which of the prefixes they are."""
    inputs: Tensor
    """[g, t] what is in view of each."""
    carried: Any


@dataclass(frozen=True)
class CarriedPrefixes:
    """`Continuations` of a network, made by `read_prefixes`. Memory is that of n states, and of
    what the network carries: a few vectors for each prefix if it is recurrent, and keys and values
    of every input in view if it is a Transformer.
    """

    carrier: Carrier
    choices: Choices
    states: Tensor
    """[n, s]."""
    groups: tuple[_Group, ...]

    @property
    def entries(self) -> Sequence[str]:
        """See `Continuations`."""
        return self.choices.entries

    @property
    def words(self) -> int:
        """See `Continuations`."""
        return self.choices.words

    def __len__(self) -> int:
        return len(self.states)

    def silent(self) -> BoolArray:
        """See `Continuations`: never, without an interface before the model."""
        return np.zeros(len(self), np.bool_)

    @torch.inference_mode()
    def log_probs(self, rows: LongArray | None = None) -> LogProbs:
        """See `Continuations`."""
        states = self.states if rows is None else self.states[self._tensor(rows)]
        size = len(self.entries)
        found = torch.empty((len(states), size), dtype=states.dtype)
        for part in slices(len(states), size):
            found[part] = torch.log_softmax(self._logits(states[part]), 1).cpu()
        return found.numpy()

    @torch.inference_mode()
    def probabilities(self, rows: LongArray) -> Tensor:
        """[m, v] what `log_probs` says after the prefixes at `rows` [m], not as logarithms, and
        where the weights are.
        """
        return torch.softmax(self._logits(self.states[self._tensor(rows)]), 1)

    @torch.inference_mode()
    def log_probs_at(self, rows: LongArray, entries: LongArray) -> LogProbs:
        """[m] what `log_probs` says of `entries` [m] after the prefixes at `rows` [m], which do not
        decrease; each prefix is looked at once, and the large answer is never kept.
        """
        found = torch.empty(len(rows), dtype=self.states.dtype)
        used, at = np.unique(rows, return_inverse=True)
        labels = self._tensor(entries)
        for part in slices(len(used), len(self.entries)):
            first, last = np.searchsorted(at, [part.start, part.stop])
            mine = slice(int(first), int(last))
            logs = torch.log_softmax(self._logits(self.states[self._tensor(used[part])]), 1)
            found[mine] = logs[self._tensor(at[mine] - part.start), labels[mine]].cpu()
        return found.numpy()

    @torch.inference_mode()
    def top(self, count: int) -> tuple[LongArray, LogProbs]:
        """See `Continuations`."""
        size = len(self.entries)
        count = min(count, size)
        entries = torch.empty((len(self), count), dtype=torch.int64)
        logs = torch.empty((len(self), count), dtype=self.states.dtype)
        for part in slices(len(self), size):
            found, values = best_of(self._logits(self.states[part]), count)
            entries[part], logs[part] = found.cpu(), values.cpu()
        return entries.numpy(), logs.numpy()

    @torch.inference_mode()
    def extended(self, rows: LongArray, entries: LongArray) -> "CarriedPrefixes":
        """See `Continuations`."""
        if len(entries) and int(entries.max()) >= self.choices.continuing:
            raise LeakscopeError("A mark cannot continue a text; extend it by words.")
        inputs = self._tensor(entries if self.choices.ids is None else self.choices.ids[entries])
        group_of, place_of = self._homes()
        found: list[tuple[_Group, Tensor]] = []
        for number, group in enumerate(self.groups):
            mine = np.flatnonzero(group_of[rows] == number)
            if not len(mine):
                continue
            source, added = self._tensor(place_of[rows[mine]]), inputs[self._tensor(mine)]
            longer = torch.cat([group.inputs[source], added[:, None]], 1)
            if self.carrier.context is not None and longer.shape[1] > self.carrier.context:
                found += _read(self.carrier, mine, longer[:, self.carrier.context // 2 :])
            else:
                states, carried = self.carrier.step(group.carried, source, added)
                found.append((_Group(mine, longer, carried), states))
        return _assembled(self.carrier, self.choices, found, self.states[:0])

    def _homes(self) -> tuple[LongArray, LongArray]:
        """[n] the group of each prefix, and its place there."""
        group_of, place_of = np.zeros((2, len(self)), np.int64)
        for number, group in enumerate(self.groups):
            group_of[group.rows] = number
            place_of[group.rows] = np.arange(len(group.rows))
        return group_of, place_of

    def _logits(self, states: Tensor) -> Tensor:
        found = self.carrier.logits(states)
        return found if self.choices.ids is None else found[:, self._tensor(self.choices.ids)]

    def _tensor(self, array: LongArray) -> Tensor:
        return torch.from_numpy(np.asarray(array, np.int64)).to(self.carrier.device)


@torch.inference_mode()
def read_prefixes(
    carrier: Carrier, choices: Choices, prefixes: Sequence[Sequence[int]]
) -> CarriedPrefixes:
    """Read the inputs of some prefixes, the begin mark included: at least one input in each."""
    seen = [ids[first_input(len(ids) - 1, carrier.context) :] for ids in prefixes]
    by_length: dict[int, list[int]] = {}
    for row, ids in enumerate(seen):
        by_length.setdefault(len(ids), []).append(row)
    found: list[tuple[_Group, Tensor]] = []
    for rows in by_length.values():
        inputs = torch.tensor([seen[row] for row in rows], device=carrier.device)
        found += _read(carrier, np.array(rows, np.int64), inputs)
    some = torch.zeros((1, 1), dtype=torch.int64, device=carrier.device)
    none = carrier.read(some)[0][:0] if not found else found[0][1][:0]
    return _assembled(carrier, choices, found, none)


def _read(carrier: Carrier, rows: LongArray, inputs: Tensor) -> Iterator[tuple[_Group, Tensor]]:
    """Read `inputs` [g, t] of the prefixes `rows`, batch by batch: each batch is a group. Where
    the device runs out of memory, batches are halved.
    """
    size, start = max(1, carrier.batch_entries // inputs.shape[1]), 0
    while start < len(rows):
        part = inputs[start : start + size]
        try:
            states, carried = carrier.read(part)
        except torch.OutOfMemoryError:
            if size == 1:
                raise LeakscopeError(
                    f"The device has no room for one prefix of {inputs.shape[1]} tokens; choose "
                    "another --device, or a narrower --dtype."
                ) from None
            size = max(1, min(size, len(part)) // 2)
            continue
        yield _Group(rows[start : start + size], part, carried), states
        start += size


def _assembled(
    carrier: Carrier, choices: Choices, found: list[tuple[_Group, Tensor]], none: Tensor
) -> CarriedPrefixes:
    """Groups and their states as one; `none` is a state of no row."""
    size = sum(len(group.rows) for group, _ in found)
    states = none.new_empty((size, none.shape[1]))
    for group, part in found:
        states[torch.from_numpy(group.rows).to(states.device)] = part
    return CarriedPrefixes(carrier, choices, states, tuple(group for group, _ in found))
