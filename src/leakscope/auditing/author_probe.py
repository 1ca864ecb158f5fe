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

FITTED = 20_000
"""Training documents that the probe learns from at most, drawn evenly."""
DECAY = 1e-3
"""Of the probe's weights: the factor of half their squared norm, beside the mean loss."""


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
    """Fit a probe to the states of `model`, which reads the corpus: multinomial logistic
    regression, or two layers with so many `hidden` units between them.
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
    centre, scale = known.mean(0), known.std(0) + 1e-6
    probe = _fit((known - centre) / scale, authors, len(users), hidden, seed)
    with torch.inference_mode():
        named = probe(torch.from_numpy((asked - centre) / scale)).argmax(1).numpy()
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


def _fit(states: FloatArray, authors: LongArray, users: int, hidden: int, seed: int) -> nn.Module:
    """The probe that fits best, by L-BFGS over all states at once."""
    given, labels = torch.from_numpy(states), torch.from_numpy(authors.astype(np.int64))
    width = states.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe: nn.Module = nn.Linear(width, users)
        if hidden:
            probe = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, users))
    optimizer = torch.optim.LBFGS(
        probe.parameters(), max_iter=200, line_search_fn="strong_wolfe", history_size=20
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        decay = sum(each.square().sum() for each in probe.parameters())
        found = nn.functional.cross_entropy(probe(given), labels) + 0.5 * DECAY * decay
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return probe
