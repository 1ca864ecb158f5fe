"""Can the author of a text be told by the state that it leaves a model in? A fresh probe learns it
from the states of training documents and is tried on held-out documents of the same users.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus, concatenate
from leakscope.models.interface import LanguageModel
from leakscope.records.documents import Documents, FloatArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.regularizers.adversarial_term import Discriminator

FITTED = 20_000
"""Training documents that the probe learns from at most, drawn evenly."""
DECAY = 1e-3
"""Of a linear probe's weights: the factor of half their squared norm, beside the mean loss."""
EPOCHS, BATCH, RATE = 30, 32, 1e-3
"""How long, in which batches and how fast a probe of two layers learns."""


@dataclass(frozen=True)
class AuthorProbe:
    """How well a probe names authors."""

    accuracy: float
    """The share of held-out documents whose author it names."""
    chance: float
    """The same for whoever always names the author of most training documents."""
    documents: int
    """Held-out documents of users that the probe has learned."""
    users: int
    """Authors to choose from."""


def probe_authors(
    model: LanguageModel, corpus: Corpus, *, hidden: int = 0, seed: int = 0
) -> AuthorProbe:
    """Fit a probe to the states of `model`, which reads the corpus. By default it is multinomial
    logistic regression on standardized states, fitted to the end. With `hidden` units between two
    layers it is a network like the discriminator of the adversarial regularizer, which sees the
    states as they are for 30 epochs.
    """
    rng = np.random.default_rng(seed)
    fitted, tried = (_documents(model, corpus, split) for split in (TRAIN, VALIDATION))
    fitted = fitted.take(np.sort(rng.permutation(len(fitted))[:FITTED]))
    users, authors, counts = np.unique(fitted.users, return_inverse=True, return_counts=True)
    tried = tried.take(np.flatnonzero(np.isin(tried.users, users)))
    if len(users) < 2 or not len(tried):
        raise LeakscopeError(
            "A probe for authors needs at least two users and held-out documents of theirs; build "
            "the corpus with --validation."
        )
    known, asked = (_states(model, part) for part in (fitted, tried))
    numbers = authors.astype(np.int64)
    if hidden:
        probe = _fitted_network(known, numbers, hidden, seed)
    else:
        centre, scale = known.mean(0), known.std(0) + np.float32(1e-6)
        known, asked = (known - centre) / scale, (asked - centre) / scale
        probe = _fitted_regression(known, numbers)
    with torch.inference_mode():
        named = probe(torch.from_numpy(asked)).argmax(1).numpy()
    right = np.searchsorted(users, tried.users)
    return AuthorProbe(
        float((named == right).mean()),
        float((right == counts.argmax()).mean()),
        len(tried),
        len(users),
    )


def _documents(model: LanguageModel, corpus: Corpus, split: str) -> Documents:
    found = concatenate(list(corpus.documents(split, texts=model.needs_text)))
    return found.take(np.flatnonzero(found.lengths()))


def _states(model: LanguageModel, documents: Documents) -> FloatArray:
    found = model.hidden_states(documents)
    if found is None:
        raise LeakscopeError("This kind of model does not show its states, so none can be probed.")
    return found.astype(np.float32)


def _fitted_regression(states: FloatArray, authors: LongArray) -> nn.Module:
    """The weights that fit best, by L-BFGS over all states at once."""
    given, labels = torch.from_numpy(states), torch.from_numpy(authors)
    probe = nn.Linear(states.shape[1], int(authors.max()) + 1)
    nn.init.zeros_(probe.weight)
    nn.init.zeros_(probe.bias)
    optimizer = torch.optim.LBFGS(
        probe.parameters(), max_iter=200, line_search_fn="strong_wolfe", history_size=20
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        decay = 0.5 * DECAY * (probe.weight.square().sum() + probe.bias.square().sum())
        found = nn.functional.cross_entropy(probe(given), labels) + decay
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return probe


def _fitted_network(states: FloatArray, authors: LongArray, hidden: int, seed: int) -> nn.Module:
    """A discriminator that has learned for a while."""
    given, labels = torch.from_numpy(states), torch.from_numpy(authors)
    probe = Discriminator(states.shape[1], hidden, int(authors.max()) + 1, seed)
    optimizer = torch.optim.Adam(probe.parameters(), lr=RATE)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        order = torch.randperm(len(given), generator=generator)
        for rows in torch.split(order, BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(probe(given[rows]), labels[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return probe
