"""What a training asks of whoever takes its steps, and the plain way to take them."""

from typing import NamedTuple, Protocol

import numpy as np
import torch

from leakscope.models.word.networks import Network
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.steps.batches import TrainingText, epoch_order
from leakscope.training.steps.plain_step import take_step
from leakscope.training.train_settings import TrainSettings


class Taken(NamedTuple):
    """What a step saw before it changed the weights."""

    loss: float
    """Summed over the words."""
    words: int
    """Predictions, document ends included."""


class Steps(Protocol):
    """Takes the steps of a training, numbered from 0."""

    @property
    def per_epoch(self) -> int:
        """Steps that make an epoch."""
        ...

    @property
    def total(self) -> int:
        """Steps of the whole training."""
        ...

    def take(self, step: int) -> Taken:
        """Take step number `step`."""
        ...


class PlainSteps:
    """Each document once an epoch, in shuffled batches."""

    def __init__(
        self,
        network: Network,
        optimizer: torch.optim.Optimizer,
        text: TrainingText,
        settings: TrainSettings,
        generator: torch.Generator,
    ) -> None:
        self._network, self._optimizer, self._text = network, optimizer, text
        self._settings, self._generator = settings, generator
        self._epoch, self._order = -1, list[LongArray]()

    @property
    def per_epoch(self) -> int:
        """See `Steps`."""
        return self._text.steps(self._settings.batch_size)

    @property
    def total(self) -> int:
        """See `Steps`."""
        return self.per_epoch * self._settings.epochs

    def take(self, step: int) -> Taken:
        """See `Steps`."""
        settings = self._settings
        epoch, at = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            order = epoch_order(self._text, settings.batch_size, settings.seed, epoch)
            self._epoch, self._order = epoch, list(order)
        batch = self._text.batch(self._order[at])
        # Dropout is a function of the seed and the step, so nothing of it needs to be saved.
        self._generator.manual_seed(settings.seed * 1_000_003 + step)
        value = take_step(self._network, self._optimizer, batch, self._generator, settings.clip)
        if not np.isfinite(value):
            raise LeakscopeError(
                f"The loss became {value} at step {step + 1}; lower --learning-rate."
            )
        return Taken(value * len(batch.labels), len(batch.labels))
