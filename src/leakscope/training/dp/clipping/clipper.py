"""`Clipper`: the sum over users of their clipped gradients, exact, at about the price of one plain
gradient of the same text.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from leakscope.models.word.networks import Network
from leakscope.records.documents import LongArray
from leakscope.training.dp.clipping.clip_factors import (
    NotFiniteError,
    Weighting,
    check_choices,
    check_weights,
    explode,
)
from leakscope.training.dp.clipping.ghost import add_ghost, groups, supports
from leakscope.training.dp.clipping.methods import Method
from leakscope.training.dp.clipping.microbatch import add_microbatch
from leakscope.training.dp.clipping.output_layer import Workspace
from leakscope.training.dp.clipping.text_by_user import UserText, by_user
from leakscope.training.steps.batches import Batch

MEMORY = 512 * 2**20


@dataclass(frozen=True)
class Clipped:
    """What a clipped sum was made of; as private as the text, since no noise was added."""

    norms: Tensor
    """[users] the norms of the users' gradients before clipping, float64; 0 without text, infinite
    where it is beyond any number: such a user contributes nothing."""
    losses: Tensor
    """[users] the summed losses, float64."""
    words: Tensor
    """[users] the words, document ends included; of a `ModuleClipper`, the rows."""


class Clipper:
    """Writes clipped sums of a network's gradients; keeps its memory from step to step."""

    def __init__(
        self,
        network: Network,
        clip: float,
        *,
        method: Method = "auto",
        weighting: Weighting = "mean",
        memory: int = MEMORY,
        words: int | None = None,
    ) -> None:
        """`memory`: about how many bytes the output layer may take at a time; `words`: how many
        words may be computed at a time, unless one user has more. Sums of several times add up to
        the same but for rounding.
        """
        check_choices(method, clip)
        if method == "auto":  # ghost norms were never slower: docs/experiments.md
            method = "ghost" if supports(network) else "microbatch"
        self._network, self._clip = network, clip
        self._method: Method = method
        self._weighting, self._memory, self._space = weighting, memory, Workspace()
        self._words = words

    @property
    def method(self) -> Method:
        """The method in use."""
        return self._method

    def write(
        self, batch: Batch, users: LongArray, count: int, clip: float | None = None
    ) -> Clipped:
        """Set every weight's `.grad` to the sum over users of g * min(1, clip / |g|), where g is
        the gradient, over all weights together, of the mean loss of all words that one user has
        in the batch. Piece i of the batch is that of user users[i], below `count`.

        `clip`: that of this call alone. No noise, no division, no dropout. Gradients are
        overwritten and their memory is used again, so there is no need for `zero_grad`.
        """
        text = by_user(batch, users, count)
        clear(self._network.parameters())
        norms, losses = torch.zeros(2, count, dtype=torch.float64)
        for group in groups(self._network, text, self._memory, self._words):
            for one, found in self._add(group, self._clip if clip is None else clip):
                owners = torch.from_numpy(one.owners)
                norms[owners], losses[owners] = found
        words = torch.zeros(count, dtype=torch.int64)
        words[torch.from_numpy(text.owners)] = torch.from_numpy(text.words)
        return Clipped(norms, losses, words)

    def _add(
        self, group: UserText, clip: float
    ) -> Iterator[tuple[UserText, tuple[Tensor, Tensor]]]:
        """Add a group's clipped gradients: users with their norms and losses."""
        if self._method == "microbatch" and len(group.owners) > 1:
            for one in group.each_user():
                yield from self._add(one, clip)
            return
        try:
            if self._method == "ghost":
                found = add_ghost(self._network, group, clip, self._weighting, self._space)
            else:
                found = add_microbatch(self._network, group, clip, self._weighting)
        except NotFiniteError:
            check_weights(self._network.parameters())
            if len(group.owners) > 1:  # all but who is to blame
                for one in group.each_user():
                    yield from self._add(one, clip)
            else:
                nothing = torch.full((1,), torch.inf, dtype=torch.float64)
                yield group, (nothing, nothing)
            return
        yield group, found
        if len(group.owners) > 1:
            for user in torch.nonzero(explode(found[0])).flatten().tolist():
                yield from self._add(group.take(user, user + 1), clip)


def clear(weights: Iterable[Tensor]) -> None:
    """Zero gradients, in the memory that they have."""
    for weight in weights:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        else:
            weight.grad.zero_()
