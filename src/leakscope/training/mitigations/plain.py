"""Plain training: each document once an epoch, in shuffled batches."""

import numpy as np

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_record import PlainRecord
from leakscope.training.mitigations.mitigation import Mitigation, Taken, Workbench
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.steps.batch_share import share_of
from leakscope.training.steps.batches import epoch_order
from leakscope.training.steps.plain_step import ShareLoss, descend


class PlainTraining(Mitigation):
    """No mitigation at all."""

    def __init__(self, bench: Workbench) -> None:
        self._bench, self._epoch, self._order = bench, -1, list[LongArray]()
        self._loss = bench.ranks.parallel(ShareLoss(bench.network))

    @property
    def per_epoch(self) -> int:
        """See `Mitigation`."""
        return self._bench.text.steps(self._bench.batch_size)

    @property
    def total(self) -> int:
        """See `Mitigation`."""
        return self.per_epoch * self._bench.epochs

    def take(self, step: int) -> Taken:
        """See `Mitigation`."""
        bench = self._bench
        epoch, at = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            order = epoch_order(bench.text, bench.batch_size, bench.seed, epoch)
            self._epoch, self._order = epoch, list(order)
        pieces = self._order[at]
        sizes = bench.text.sizes_of(pieces)
        # Dropout is a function of the seed and the step, so nothing of it needs to be saved.
        bench.generator.manual_seed(bench.seed * 1_000_003 + step)
        share = share_of(bench.text, pieces, bench.ranks.share(sizes), bench.generator)
        loss = self._loss(share)
        descend(bench.network, bench.optimizer, loss, bench.clip)
        value = bench.ranks.total(float(loss.detach()))
        if not np.isfinite(value):
            raise LeakscopeError(
                f"The loss became {value} at step {step + 1}; lower --learning-rate."
            )
        words = int(sizes.sum())
        return Taken(value * words, words)

    def record(self, steps: int) -> PlainRecord:
        """See `Mitigation`."""
        return PlainRecord()


def start(settings: PlainSettings, bench: Workbench) -> PlainTraining:
    """Plain training on a workbench."""
    return PlainTraining(bench)
