"""Training with a regularizer: plain steps whose loss has a term about the authors of the texts."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.training.mitigations.mitigation import (
    Mitigation,
    Taken,
    TrainedNetwork,
    Workbench,
)
from leakscope.training.regularizers.author_batches import author_order
from leakscope.training.regularizers.author_term import AuthorTerm
from leakscope.training.regularizers.privacy_weight import weight_at
from leakscope.training.steps.batches import Batch, epoch_order
from leakscope.training.steps.loss import output_loss
from leakscope.training.steps.plain_step import descend


class RegularizedTraining(Mitigation):
    """Adds a privacy loss over the last state of every text to the loss of the words. The texts go
    through the network once, as in plain training.
    """

    def __init__(
        self,
        bench: Workbench,
        term: AuthorTerm,
        record: Callable[[int, dict[str, float | None]], MitigationRecord],
        users_per_batch: int | None,
    ) -> None:
        """`record` makes the record from the number of authors and the figures of the term."""
        self._bench, self._term, self._make_record = bench, term, record
        self._users_per_batch = users_per_batch
        known, numbers = np.unique(bench.documents.users, return_inverse=True)
        self.authors = len(known)
        pieces = np.arange(bench.text.steps(1))
        self._author_of: LongArray = numbers[bench.text.documents_of(pieces)].astype(np.int64)
        self._epoch, self._order = -1, list[LongArray]()

    @property
    def per_epoch(self) -> int:
        """See `Mitigation`."""
        return self._bench.text.steps(self._bench.batch_size)

    @property
    def total(self) -> int:
        """See `Mitigation`."""
        return self.per_epoch * self._bench.epochs

    def take(self, step: int) -> Taken:
        """See `Mitigation`. The loss that is told is that of the words alone."""
        bench, term = self._bench, self._term
        epoch, at = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._order_of(epoch)
        if not at:
            term.restart()
        pieces = self._order[at]
        batch = bench.text.batch(pieces)
        # Dropout is a function of the seed and the step, so nothing of it needs to be saved.
        bench.generator.manual_seed(bench.seed * 1_000_003 + step)
        states = bench.network.hidden(batch.inputs, bench.generator)
        states = states.flatten(0, 1)[batch.places]
        output = bench.network.output
        words = output_loss(states, output.weight, output.bias, batch.labels)
        privacy = term.loss(states[last_places(batch)], torch.from_numpy(self._author_of[pieces]))
        loss = words + self._weight(step + 1) * privacy
        if not torch.isfinite(loss.detach()):
            raise LeakscopeError(
                f"The loss became {float(loss.detach())} at step {step + 1}; lower --learning-rate "
                "or --privacy-weight."
            )
        descend(bench.network, bench.optimizer, loss, bench.clip)
        return Taken(float(words.detach()) * len(batch.labels), len(batch.labels))

    def _order_of(self, epoch: int) -> list[LongArray]:
        bench = self._bench
        if self._users_per_batch is None:
            return list(epoch_order(bench.text, bench.batch_size, bench.seed, epoch))
        sizes = bench.text.sizes_of(np.arange(len(self._author_of)))
        rng = np.random.default_rng([bench.seed, epoch])
        return author_order(sizes, self._author_of, bench.batch_size, self._users_per_batch, rng)

    def _weight(self, steps: int) -> float:
        return weight_at(
            steps / self.per_epoch, self._term.privacy_weight, self._term.privacy_warmup
        )

    @property
    def extra_networks(self) -> Mapping[str, TrainedNetwork]:
        """See `Mitigation`."""
        return {name: TrainedNetwork(*each) for name, each in self._term.learners.items()}

    def state(self) -> Mapping[str, Any]:
        """See `Mitigation`: what the term keeps, such as the means of the running epoch."""
        return self._term.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Mitigation`."""
        self._term.restore(state)

    def history(self, steps: int) -> Mapping[str, float | None]:
        """The weight of the privacy loss, and the term's means over the epoch so far."""
        return {"privacy_weight": self._weight(steps), **self._term.figures()}

    def record(self, steps: int) -> MitigationRecord:
        """See `Mitigation`."""
        return self._make_record(self.authors, self._term.figures())


def last_places(batch: Batch) -> torch.Tensor:
    """[n] where the last state of each piece stands among those at the batch's places. It is the
    one that has seen the whole piece, in a recurrent network as in a Transformer.
    """
    sizes = torch.bincount(batch.places // batch.inputs.shape[1], minlength=len(batch.inputs))
    return sizes.cumsum(0) - 1


def require_authors(bench: Workbench, texts: int, what: str) -> int:
    """How many users the text is of; refuse fewer than two, and where no user has so many texts."""
    _, counts = np.unique(bench.documents.users, return_counts=True)
    if len(counts) < 2 or counts.max() < texts:
        raise LeakscopeError(f"{what}; train on more users, or without --mitigation.")
    return len(counts)
