"""The adversarial regularizer: a discriminator learns authors from the states of their texts, and
the model is to leave it guessing (Mireshghallah et al. 2021, section 2.1).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.author_term import Learner, RunningMeans
from leakscope.training.regularizers.whitening import Whitening, standardized

MEMORY = 512
"""Texts of the last batches whose states a discriminator learns from again."""


class Discriminator(nn.Module):
    """Two fully connected layers from a state [n, h] to a logit for each author [n, m]."""

    def __init__(self, width: int, hidden: int, authors: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.first, self.last = nn.Linear(width, hidden), nn.Linear(hidden, authors)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for layer in (self.first, self.last):
                bound = layer.in_features**-0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)

    def forward(self, states: Tensor) -> Tensor:
        """The logits."""
        logits: Tensor = self.last(torch.relu(self.first(states)))
        return logits


def divergence(logits: Tensor) -> Tensor:
    """The mean over rows [n, m] of the KL divergence of the uniform distribution from the softmax,
    in nats. It is Eq. 2 less log m, the value of Eq. 2 where every author is as likely.
    """
    each = logits.logsumexp(1) - logits.mean(1)
    return each.mean() - math.log(logits.shape[1])


class Judged(NamedTuple):
    """What a discriminator says of some states, and the gradients of both losses."""

    logits: Tensor
    privacy: Tensor
    """Its `divergence` from uniform."""
    mistaken: Tensor
    """Its cross-entropy."""
    to_states: Tensor
    """Of the privacy loss, by the states."""
    to_weights: tuple[Tensor, ...]
    """Of the cross-entropy, by the weights in their order."""


@torch.no_grad()
def judged(network: Discriminator, states: Tensor, authors: Tensor) -> Judged:
    """One forward pass over states [n, h] for both losses. Two layers are few enough to write their
    gradients down, which takes half the time of having them found.
    """
    first, last, n = network.first, network.last, len(states)
    hidden = first(states).relu_()
    logits = last(hidden)
    shares = torch.softmax(logits, 1).div_(n)
    errors = shares.scatter_add(1, authors[:, None], states.new_full((n, 1), -1 / n))
    # Of both losses by the hidden layer, in one product; where a unit is off, nothing goes through.
    both = torch.cat([shares.sub_(1 / logits.numel()), errors]) @ last.weight
    to_hidden, through = both.view(2, n, -1).mul_(hidden > 0)
    return Judged(
        logits,
        divergence(logits),
        nn.functional.cross_entropy(logits, authors),
        to_hidden @ first.weight,
        (through.T @ states, through.sum(0), errors.T @ hidden, errors.sum(0)),
    )


class AdversarialTerm:
    """The discriminator with its optimizer, and the privacy loss that it gives rise to."""

    def __init__(
        self, settings: AdversarialSettings, width: int, authors: int, seed: int = 0
    ) -> None:
        """`width`: of the states. `authors`: how many there are."""
        self.privacy_weight, self.privacy_warmup = settings.privacy_weight, settings.privacy_warmup
        self.discriminator = Discriminator(width, settings.discriminator_width, authors, seed)
        self._whitening = Whitening() if settings.discriminator_input == "whitened" else None
        self._weights = list(self.discriminator.parameters())
        self._optimizer = torch.optim.Adam(
            self._weights, lr=settings.discriminator_learning_rate, fused=True
        )
        self._further, self._seed, self._taken = settings.discriminator_steps - 1, seed, 0
        self._states, self._authors = torch.zeros(0, width), torch.zeros(0, dtype=torch.int64)
        self._means = RunningMeans("privacy_loss", "discriminator_loss", "discriminator_accuracy")

    def loss(self, states: Tensor, authors: Tensor) -> Tensor:
        """See `AuthorTerm`: the divergence from uniform of what the discriminator says of the
        states, which then learns from them. One forward pass serves both; the gradient of each goes
        where it belongs.
        """
        if self._weights[0].device != states.device:
            self.discriminator.to(states.device)
        if self._whitening is not None:
            states = standardized(self._whitening(states))
        seen = states.detach().float()
        said = judged(self.discriminator, seen, authors)
        self._descend(said.to_weights)
        if self._further:
            self._learn_again(seen, authors)
        self._means.add(
            privacy_loss=float(said.privacy),
            discriminator_loss=float(said.mistaken),
            discriminator_accuracy=float((said.logits.argmax(1) == authors).float().mean()),
        )
        known: Tensor = _Known.apply(  # type: ignore[no-untyped-call]
            states, said.privacy, said.to_states.to(states.dtype)
        )
        return known

    def _descend(self, gradients: Sequence[Tensor]) -> None:
        """One step of the discriminator; nothing but its weights gets a gradient."""
        for weight, gradient in zip(self._weights, gradients, strict=True):
            weight.grad = gradient
        self._optimizer.step()

    def _learn_again(self, states: Tensor, authors: Tensor) -> None:
        """Keep the states of a batch, and take the further steps on draws from what is kept."""
        device = states.device
        self._states = torch.cat([self._states.to(device), states])[-MEMORY:]
        self._authors = torch.cat([self._authors.to(device), authors])[-MEMORY:]
        # The draws are a function of the seed and of how many batches there were.
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + self._taken)
        self._taken += 1
        for _ in range(self._further):
            rows = torch.randint(len(self._states), (len(states),), generator=generator).to(device)
            again = judged(self.discriminator, self._states[rows], self._authors[rows])
            self._descend(again.to_weights)

    @property
    def learners(self) -> Mapping[str, Learner]:
        """See `AuthorTerm`."""
        return {"discriminator": Learner(self.discriminator, self._optimizer)}

    def figures(self) -> dict[str, float | None]:
        """See `AuthorTerm`."""
        return self._means.means()

    def restart(self) -> None:
        """See `AuthorTerm`."""
        self._means.restart()

    def state(self) -> dict[str, Any]:
        """See `AuthorTerm`."""
        memory = {"states": self._states, "authors": self._authors, "taken": self._taken}
        whitening = {} if self._whitening is None else self._whitening.state()
        return self._means.state() | memory | whitening

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `AuthorTerm`."""
        self._means.restore(state)
        self._states, self._authors = state["states"], state["authors"]
        self._taken = state["taken"]
        if self._whitening is not None:
            self._whitening.restore(state)


class _Known(torch.autograd.Function):
    """A loss whose gradient is known already: the weights behind it may change before the backward
    pass comes by.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
        ctx.gradient = gradient
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return outer[0].to(ctx.gradient.dtype) * ctx.gradient, None, None
