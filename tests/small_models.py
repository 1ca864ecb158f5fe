"""Untrained models of a handful of units."""

from collections.abc import Sequence

import torch

from leakscope.models.architecture import Architecture
from leakscope.models.networks import make_network
from leakscope.models.wordlevel import WordModel

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
