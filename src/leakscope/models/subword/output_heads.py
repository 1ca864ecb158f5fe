"""From a Hugging Face network to ranks, by the cheapest way that gives the network's own logits.

`LinearHead` takes hidden states from the body and applies the output layer block by block, so that
no logits of [length, vocabulary] ever exist. `PlainHead` is for networks that do anything else to
their logits (soft-capping, scaling): it takes them as they come, in small batches.
"""

import inspect
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from leakscope.models.ranking.logit_slices import LOGITS, slices
from leakscope.models.ranking.top_k import (
    Ranked,
    rank_early,
    rank_exact,
    rank_full,
    rank_logits,
    rank_logits_exact,
)


class Head(Protocol):
    """What is asked of a network's output; m positions, s numbers in a state."""

    @property
    def vocabulary(self) -> int:
        """The number of entries."""
        ...

    @property
    def most_tokens(self) -> int | None:
        """How many tokens may be read at a time, if this is limited."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    @property
    def config(self) -> Any:
        """The configuration of what reads."""
        ...

    def states(self, inputs: Tensor, mask: Tensor, positions: Tensor, cache: Any = None) -> Tensor:
        """[b, t, s] the states that predict what follows each of `inputs` [b, t], behind what is
        in a `cache` of transformers, which takes them in.
        """
        ...

    def hidden(self, inputs: Tensor, mask: Tensor, positions: Tensor) -> Tensor | None:
        """[b, t, h] the last hidden states; None if the network does not show them."""
        ...

    def logits(self, states: Tensor) -> Tensor:
        """[m, v] of states [m, s], at least in float32."""
        ...

    def rank(self, states: Tensor, labels: Tensor, k: int, noise: float, every: bool) -> Ranked:
        """Ranks below k of `labels` [m]; with every log-probability if asked."""
        ...

    def exact(self, states: Tensor, labels: Tensor, k: int) -> Ranked:
        """Ranks by the design's rule, taking these states' logits at face value."""
        ...


@dataclass(frozen=True)
class LinearHead:
    """Hidden states of `body`, then `weight` [v, h] and `bias` [v]."""

    body: Any
    weight: Tensor
    bias: Tensor

    @staticmethod
    def of(network: Any) -> "LinearHead":
        """The body and output layer of a network; half-precision weights are widened, since their
        logits tie far too often.
        """
        layer = network.get_output_embeddings()
        weight = layer.weight.detach()
        weight = weight if weight.dtype == torch.float64 else weight.float()
        bias = getattr(layer, "bias", None)
        zeros = torch.zeros(len(weight), dtype=weight.dtype, device=weight.device)
        return LinearHead(network.base_model, weight, zeros if bias is None else bias.to(weight))

    @property
    def vocabulary(self) -> int:
        """See `Head`."""
        return len(self.weight)

    @property
    def most_tokens(self) -> int | None:
        """See `Head`: hidden states are small."""
        return None

    @property
    def device(self) -> torch.device:
        """See `Head`."""
        return self.weight.device

    @property
    def config(self) -> Any:
        """See `Head`."""
        return self.body.config

    def states(self, inputs: Tensor, mask: Tensor, positions: Tensor, cache: Any = None) -> Tensor:
        """See `Head`: the last hidden states."""
        found: Tensor = call(self.body, inputs, mask, positions, cache).last_hidden_state
        return found.to(self.weight.dtype)

    def hidden(self, inputs: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """See `Head`: they are the states."""
        return self.states(inputs, mask, positions)

    def logits(self, states: Tensor) -> Tensor:
        """See `Head`."""
        return torch.addmm(self.bias, states, self.weight.T)

    def rank(self, states: Tensor, labels: Tensor, k: int, noise: float, every: bool) -> Ranked:
        """See `Head`: early exit unless every log-probability is asked for."""
        if not every:
            return rank_early(states, self.weight, self.bias, labels, k, noise)
        return joined(
            [
                rank_full(states[rows], self.weight, self.bias, labels[rows], k, noise)
                for rows in slices(len(labels), self.vocabulary)
            ]
        )

    def exact(self, states: Tensor, labels: Tensor, k: int) -> Ranked:
        """See `Head`."""
        return joined(
            [
                rank_exact(states[rows], self.weight, self.bias, labels[rows], k)
                for rows in slices(len(labels), self.vocabulary)
            ]
        )


@dataclass(frozen=True)
class PlainHead:
    """The logits of `network` are its states."""

    network: Any
    entries: int

    @property
    def vocabulary(self) -> int:
        """See `Head`."""
        return self.entries

    @property
    def most_tokens(self) -> int | None:
        """See `Head`: all logits of a batch exist at once."""
        return max(1, 2 * LOGITS // self.vocabulary)

    @property
    def device(self) -> torch.device:
        """See `Head`."""
        found: torch.device = self.network.device
        return found

    @property
    def config(self) -> Any:
        """See `Head`."""
        return self.network.config

    def states(self, inputs: Tensor, mask: Tensor, positions: Tensor, cache: Any = None) -> Tensor:
        """See `Head`: the logits."""
        found: Tensor = call(self.network, inputs, mask, positions, cache).logits
        return found if found.dtype == torch.float64 else found.float()

    def hidden(self, inputs: Tensor, mask: Tensor, positions: Tensor) -> Tensor | None:
        """See `Head`: those of the body, if it is a part of its own."""
        body = self.network.base_model
        if body is self.network:
            return None
        found: Tensor | None = getattr(
            call(body, inputs, mask, positions), "last_hidden_state", None
        )
        return found

    def logits(self, states: Tensor) -> Tensor:
        """See `Head`."""
        return states

    def rank(self, states: Tensor, labels: Tensor, k: int, noise: float, every: bool) -> Ranked:
        """See `Head`: all logits are there, so `every` costs nothing."""
        return rank_logits(states.clone(), labels, k, noise)

    def exact(self, states: Tensor, labels: Tensor, k: int) -> Ranked:
        """See `Head`."""
        return rank_logits_exact(states, labels, k)


def head_like(head: Head, network: Any) -> Head:
    """A head of the same kind on a copy of the network."""
    if isinstance(head, LinearHead):
        return LinearHead.of(network)
    return PlainHead(network, head.vocabulary)


def call(module: Any, inputs: Tensor, mask: Tensor, positions: Tensor, cache: Any = None) -> Any:
    """Run a body or a whole network, giving it what its `forward` takes by name."""
    taken = inspect.signature(module.forward).parameters
    offered = {
        "attention_mask": mask,
        "position_ids": positions,
        "use_cache": cache is not None,
        "return_dict": True,
    }
    if cache is not None:
        offered["past_key_values"] = cache
    return module(input_ids=inputs, **{name: offered[name] for name in offered if name in taken})


def joined(parts: list[Ranked]) -> Ranked:
    """The answers of several slices as one."""
    return Ranked(
        torch.cat([part.rank for part in parts]),
        torch.cat([part.log_prob for part in parts]),
        torch.cat([part.top_log_prob for part in parts]),
        torch.cat([part.near_tie for part in parts]),
    )
