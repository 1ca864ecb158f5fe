"""Starting from another model's weights."""

from pathlib import Path

import torch

from leakscope.models.word.model_directory import load_model
from leakscope.models.word.networks import Network
from leakscope.records.errors import LeakscopeError

WORD_ROWS = ("embedding.weight", "output.weight", "output.bias")
"""Weights with a row for each word."""


def copy_known(source: Path, network: Network, vocabulary: list[str]) -> None:
    """Start from another model's weights. Its rows of shared words are copied; words that it
    does not know keep their fresh rows.
    """
    other = load_model(source)
    if other.network.architecture != network.architecture:
        raise LeakscopeError(
            f"{source} has another architecture than this training; choose the same to start "
            f"from it."
        )
    known = {word: entry for entry, word in enumerate(other.vocabulary)}
    pairs = [(entry, known[word]) for entry, word in enumerate(vocabulary) if word in known]
    pairs += [(len(vocabulary), other.unknown), (len(vocabulary) + 1, other.mark)]
    mine, theirs = (torch.tensor(side) for side in zip(*pairs, strict=True))
    with torch.no_grad():
        for (name, weight), given in zip(
            network.named_parameters(), other.network.parameters(), strict=True
        ):
            if name in WORD_ROWS:
                weight[mine] = given[theirs]
            else:
                weight.copy_(given)
