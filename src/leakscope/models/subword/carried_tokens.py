"""How Hugging Face networks continue prefixes: with a cache of keys and values where they have a
plain one, by reading again where they have not.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from leakscope.models.carried_prefixes import Carrier
from leakscope.models.subword.output_heads import Head
from leakscope.models.subword.soundness import close

TRIED = 6
"""Tokens on which a network's cache is tried."""


@dataclass(frozen=True)
class RereadTokens:
    """A `Carrier` for networks of any kind: it carries the tokens, and reads them again."""

    head: Head
    context: int | None
    batch_entries: int

    @property
    def device(self) -> torch.device:
        """See `Carrier`."""
        return self.head.device

    def read(self, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        return _states(self.head, inputs, 0, None), inputs

    def step(self, carried: Any, rows: Tensor, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        longer = torch.cat([carried[rows], inputs[:, None]], 1)
        size = max(1, self.batch_entries // longer.shape[1])
        parts = [_states(self.head, part, 0, None) for part in torch.split(longer, size)]
        return torch.cat(parts), longer

    def logits(self, states: Tensor) -> Tensor:
        """See `Carrier`."""
        return self.head.logits(states)


@dataclass(frozen=True)
class CachedTokens(RereadTokens):
    """A `Carrier` that carries a cache of transformers."""

    def read(self, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        from transformers import DynamicCache  # noqa: PLC0415

        cache = DynamicCache(config=self.head.config)
        return _states(self.head, inputs, 0, cache), cache

    def step(self, carried: Any, rows: Tensor, inputs: Tensor) -> tuple[Tensor, Any]:
        """See `Carrier`."""
        cache = _chosen(carried, rows)
        seen = carried.get_seq_length()
        return _states(self.head, inputs[:, None], seen, cache), cache


def carrier_of(head: Head, context: int | None, batch_tokens: int, dtype: torch.dtype) -> Carrier:
    """The fastest carrier that gives the answers of a network that computes in `dtype`: its cache
    is tried on a few tokens before it is trusted.
    """
    cached = CachedTokens(head, context, batch_tokens)
    return cached if _works(cached, dtype) else RereadTokens(head, context, batch_tokens)


def _chosen(cache: Any, rows: Tensor) -> Any:
    """A cache of these rows; it shares nothing that the other one would see changed."""
    found = copy(cache)
    found.layers = [copy(layer) for layer in cache.layers]
    found.batch_select_indices(rows)
    return found


def _states(head: Head, inputs: Tensor, seen: int, cache: Any) -> Tensor:
    """[n, s] the states after `inputs` [n, t], before which so many were `seen`."""
    n, t = inputs.shape
    mask = torch.ones((n, seen + t), dtype=torch.int64, device=inputs.device)
    positions = torch.arange(seen, seen + t, device=inputs.device).expand(n, t)
    return head.states(inputs, mask, positions, cache)[:, -1]


@torch.inference_mode()
def _works(cached: CachedTokens, dtype: torch.dtype) -> bool:
    """Whether going on, twice from one place and in another order, equals reading all."""
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer  # noqa: PLC0415

    head, length = cached.head, min(TRIED, cached.context or TRIED)
    if length < 2:
        return False
    inputs = (torch.arange(2 * length) % head.vocabulary).view(2, length).to(head.device)
    swapped = torch.tensor([1, 0], device=head.device)
    try:
        carried = cached.read(inputs[:, :-1])[1]
        if any(type(each) not in (DynamicLayer, DynamicSlidingWindowLayer)
               for each in carried.layers):  # fmt: skip
            return False
        once = [cached.step(carried, rows, inputs[rows, -1])[0] for rows in (swapped, 1 - swapped)]
        whole = _states(head, inputs, 0, None)
    except Exception:  # networks from elsewhere fail in ways of their own
        return False
    expected = head.logits(torch.cat([whole[swapped], whole]))
    return close(head.logits(torch.cat(once)), expected, dtype)
