"""Untrained models of a handful of units."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from leakscope.corpus.store import Corpus
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel

SMALL = {
    "lstm": Architecture("lstm", 2, 6, 8),
    "gru": Architecture("gru", 1, 5, 8),
    "transformer": Architecture("transformer", 2, 8, 8, heads=2, context=6),
}


def sharp_model(kind: str, vocabulary: Sequence[str], seed: int = 0) -> WordModel:
    """An untrained model with large weights, so that its choices vary with the context."""
    generator = torch.Generator().manual_seed(seed)
    network = make_network(SMALL[kind], len(vocabulary) + 2, generator)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "norm" not in name:
                weight.normal_(0.0, 0.8, generator=generator)
    return WordModel(network.eval().requires_grad_(False), list(vocabulary))


def sharp_reader(corpus: Path, kind: str, vocabulary: Sequence[str], seed: int = 0) -> WordModel:
    """The same, reading a corpus; in any process."""
    return sharp_model(kind, vocabulary, seed).reading(Corpus.open(corpus).lexicon)


def repeated_by(model: WordModel, users: int, documents: int, length: int, seed: int = 0):
    """(user, text) rows that a model predicts in long runs: mostly its own first, second or third
    choices, at times any word.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(documents):
        said: list[str] = []
        while len(said) < length:
            after = model.next(said)
            words = [i for i in after.order(6) if i < after.words]
            pick = words[min(int(rng.geometric(0.7)) - 1, 2, len(words) - 1)]
            if rng.random() < 0.15 or not said:
                pick = int(rng.integers(after.words))
            said.append(after.entries[pick])
        rows.append((f"u{index % users}", " ".join(said)))
    return rows
