"""The triplet regularizer: texts of one author are to be as far apart as texts of two
(Mireshghallah et al. 2021, section 2.2).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from leakscope.training.regularizers.author_term import Learner, RunningMeans
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.regularizers.whitening import Whitening

NEAR = 1e-4
"""Added to a squared distance before its root is drawn, which has no slope at 0."""


class PairDistances(NamedTuple):
    """Mean distances over the pairs of a batch; None: it has no such pair."""

    same: Tensor | None
    """Of texts by the same author."""
    other: Tensor | None
    """Of texts by different authors."""


def pair_distances(states: Tensor, authors: Tensor, *, squared: bool) -> PairDistances:
    """Over all pairs of different rows of `states` [n, h], by `authors` [n]."""
    squares = states.square().sum(1)
    distances = squares[:, None] + squares[None] - 2 * states @ states.T
    if not squared:
        distances = (distances.clamp(min=0) + NEAR).sqrt()
    alike = authors[:, None] == authors[None]
    same = alike & ~torch.eye(len(states), dtype=torch.bool, device=states.device)

    def mean(pairs: Tensor) -> Tensor | None:
        count = int(pairs.sum())
        return torch.where(pairs, distances, 0.0).sum() / count if count else None

    return PairDistances(mean(same), mean(~alike))


class TripletTerm:
    """The distance to other authors' texts, less that to the same author's.

    The batch is its own auxiliary batch: every text is set against every other, which costs no
    further pass through the model. By default the distances are not squared, and between whitened
    states: the loss is then the energy distance between authors, which is 0 only where their states
    are distributed alike. Squared ones see the authors' means alone. Distances are per unit of
    width, so that a weight means the same for all widths, or between states of length 1.
    """

    def __init__(self, settings: TripletSettings) -> None:
        self.privacy_weight, self.privacy_warmup = settings.privacy_weight, settings.privacy_warmup
        self.distance = settings.distance
        """What distances are between."""
        self._whitening = Whitening() if self.distance == "whitened" else None
        self._means = RunningMeans(
            "privacy_loss", "same_author_distance", "other_author_distance", "batches_without_pairs"
        )

    def loss(self, states: Tensor, authors: Tensor) -> Tensor:
        """See `AuthorTerm`; 0 where a batch has not both kinds of pairs."""
        states = states.float()
        if self._whitening is not None:
            states = self._whitening(states)
        if self.distance == "directions":
            states = torch.nn.functional.normalize(states, dim=1)
        else:
            states = states / states.shape[1] ** 0.5
        same, other = pair_distances(states, authors, squared=self._whitening is None)
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
        whitening = {} if self._whitening is None else self._whitening.state()
        return self._means.state() | whitening

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `AuthorTerm`."""
        self._means.restore(state)
        if self._whitening is not None:
            self._whitening.restore(state)
