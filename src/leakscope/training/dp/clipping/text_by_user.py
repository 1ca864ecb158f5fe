"""One step's text, ordered by user: what the clipped sum is computed over."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of, places_of
from leakscope.training.steps.batches import Batch


@dataclass(frozen=True)
class UserText:
    """The words of k users one after the other, piece by piece and without padding; users with
    less text come first. m words and n pieces in all.
    """

    tokens: Tensor
    """[m] inputs."""
    labels: Tensor
    """[m] the entry that follows each."""
    sizes: LongArray
    """[n] words of each piece."""
    pieces: LongArray
    """[k] pieces of each user."""
    words: LongArray
    """[k] words of each user, ascending."""
    owners: LongArray
    """[k] the caller's number of each user."""

    def take(self, first: int, last: int) -> "UserText":
        """The text of the users first to last - 1."""
        row, end = int(self.words[:first].sum()), int(self.words[:last].sum())
        piece, stop = int(self.pieces[:first].sum()), int(self.pieces[:last].sum())
        return UserText(
            self.tokens[row:end],
            self.labels[row:end],
            self.sizes[piece:stop],
            self.pieces[first:last],
            self.words[first:last],
            self.owners[first:last],
        )

    def each_user(self) -> Iterator["UserText"]:
        """One user at a time."""
        return (self.take(user, user + 1) for user in range(len(self.words)))

    def batch(self) -> Batch:
        """The same text as a padded batch."""
        columns = np.arange(self.sizes.max())
        here = columns < self.sizes[:, None]
        places = torch.from_numpy(np.flatnonzero(here))
        inputs = torch.zeros(here.size, dtype=torch.int64)
        inputs[places] = self.tokens
        return Batch(inputs.view(here.shape), places, self.labels)


def by_user(batch: Batch, users: LongArray, count: int) -> UserText:
    """The text of a batch whose piece i is user users[i]'s, a number below `count`. Users without
    a word are left out.
    """
    if len(users) != len(batch.inputs) or (
        len(users) and not 0 <= users.min() <= users.max() < count
    ):
        raise LeakscopeError(
            "Name one user below the number of users for every piece of the batch."
        )
    sizes = np.bincount(batch.places.numpy() // max(batch.inputs.shape[1], 1), minlength=len(users))
    words = np.bincount(users, sizes, count).astype(np.int64)
    owners = np.argsort(words, kind="stable")
    owners = owners[words[owners] > 0]
    rank = np.zeros(count, np.int64)
    rank[owners] = np.arange(len(owners))
    order = np.flatnonzero(sizes)
    order = order[np.argsort(rank[users[order]], kind="stable")]
    chosen = sizes[order]
    at = torch.from_numpy(places_of(offsets_of(sizes)[order], chosen))
    return UserText(
        batch.inputs.flatten()[batch.places[at]],
        batch.labels[at],
        chosen,
        np.bincount(rank[users[order]], minlength=len(owners)),
        words[owners],
        owners,
    )
