"""The triplet regularizer: texts of one author are to be as far apart as texts of two
(Mireshghallah et al. 2021, section 2.2).
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from leakscope.training.regularizers.author_term import Learner, RunningMeans
from leakscope.training.regularizers.triplet_settings import TripletSettings


class PairDistances(NamedTuple):
    """Mean squared distances over the pairs of a batch; None: it has no such pair."""

    same: Tensor | None
    """Of texts by the same author."""
    other: Tensor | None
    """Of texts by different authors."""


def pair_distances(states: Tensor, authors: Tensor) -> PairDistances:
    """Over all pairs of different rows of `states` [n, h], by `authors` [n]."""
    squares = states.square().sum(1)
    distances = squares[:, None] + squares[None] - 2 * states @ states.T
    alike = authors[:, None] == authors[None]
    same = alike & ~torch.eye(len(states), dtype=torch.bool, device=states.device)

    def mean(pairs: Tensor) -> Tensor | None:
        count = int(pairs.sum())
        return torch.where(pairs, distances, 0.0).sum() / count if count else None

    return PairDistances(mean(same), mean(~alike))


class TripletTerm:
    """The distance to other authors' texts, less that to the same author's.

    The batch is its own auxiliary batch: every text is set against every other, which costs no
    further pass through the model. Distances are per unit of width, so that a weight means the same
    for all widths, or between states of length 1. Either way a state that lies within (-1, 1) gives
    a loss between -4 and 4.
    """

    def __init__(self, settings: TripletSettings, *, bounded: bool = False) -> None:
        """`bounded`: whether the states of the model lie within (-1, 1) by themselves."""
        self.privacy_weight, self.privacy_warmup = settings.privacy_weight, settings.privacy_warmup
        usual: Literal["states", "directions"] = "states" if bounded else "directions"
        self.distance = usual if settings.distance == "auto" else settings.distance
        """What distances are between."""
        self._means = RunningMeans(
            "privacy_loss", "same_author_distance", "other_author_distance", "batches_without_pairs"
        )

    def loss(self, states: Tensor, authors: Tensor) -> Tensor:
        """See `AuthorTerm`; 0 where a batch has not both kinds of pairs."""
        states = states.float()
        if self.distance == "states":
            states = states / states.shape[1] ** 0.5
        else:
            states = torch.nn.functional.normalize(states, dim=1)
        same, other = pair_distances(states, authors)
        if same is None or other is None:
            self._means.add(batches_without_pairs=1.0)
            return 0.0 * states.sum()
        loss = other - same
        self._means.add(
            privacy_loss=float(loss.detach()),
            same_author_distance=float(same.detach()),
            other_author_distance=float(other.detach()),
            batches_without_pairs=0.0,
        )
        return loss

    @property
    def learners(self) -> Mapping[str, Learner]:
        """See `AuthorTerm`: none."""
        return {}

    def figures(self) -> dict[str, float | None]:
        """See `AuthorTerm`."""
        return self._means.means()

    def restart(self) -> None:
        """See `AuthorTerm`."""
        self._means.restart()

    def state(self) -> dict[str, Any]:
        """See `AuthorTerm`."""
        return self._means.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `AuthorTerm`."""
        self._means.restore(state)
