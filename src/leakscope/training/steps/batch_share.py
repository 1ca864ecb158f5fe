"""The part of a step's batch that one process computes."""

from typing import NamedTuple

import numpy as np
import torch

from leakscope.models.word.networks import Chance, DropoutRows
from leakscope.records.documents import LongArray
from leakscope.training.steps.batches import Batch, TrainingText


class BatchShare(NamedTuple):
    """Some pieces of a batch. The weighted mean losses of all shares add up to the batch's."""

    batch: Batch
    chance: Chance
    """What dropout draws from: the same for a piece, whoever computes it."""
    weight: float
    """The share of the batch's words."""


def share_of(
    text: TrainingText, pieces: LongArray, rows: LongArray, generator: torch.Generator
) -> BatchShare:
    """The pieces at `rows` of a step's pieces. Of no piece at all, the first one with no weight:
    every process takes part in every step.
    """
    if len(rows) == len(pieces):
        return BatchShare(text.batch(pieces), generator, 1.0)
    sizes = text.sizes_of(pieces)
    weight = float(sizes[rows].sum() / sizes.sum())
    rows = rows if len(rows) else np.zeros(1, np.int64)
    chance = DropoutRows(generator, torch.from_numpy(rows), (len(pieces), int(sizes.max())))
    return BatchShare(text.batch(pieces[rows]), chance, weight)
