"""What a training asks of the mitigation that it is given."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from leakscope.models.word.networks import Network
from leakscope.records.documents import Documents
from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.training.distributed.rank_group import RankGroup
from leakscope.training.steps.batches import TrainingText


@dataclass(frozen=True, eq=False)
class Workbench:
    """What a mitigation works on, and the plain numbers of the training."""

    ranks: RankGroup
    """The processes that share every step."""
    network: Network
    """The model that is trained."""
    optimizer: torch.optim.Optimizer
    """Of the network's weights alone."""
    text: TrainingText
    documents: Documents
    """The training documents that `text` was made of; they say whose they are."""
    generator: torch.Generator
    """For dropout: set it from the seed and the step, and nothing of it needs to be saved."""
    text_digest: str
    """Of what is trained on."""
    epochs: int
    batch_size: int
    max_words: int
    clip: float
    learning_rate: float
    seed: int
    vocabulary_users: int
    """Users that every word of the vocabulary has at least."""
    public_vocabulary: bool
    """Whether the vocabulary comes from elsewhere than this text."""
    warm_started: bool


class Taken(NamedTuple):
    """What a step saw before it changed the weights."""

    loss: float
    """Summed over the words."""
    words: int
    """Predictions, document ends included."""


class TrainedNetwork(NamedTuple):
    """A network and the optimizer that trains it; checkpoints keep both."""

    network: torch.nn.Module
    optimizer: torch.optim.Optimizer


class Mitigation(ABC):
    """Takes the steps of a training, numbered from 0, and says what else follows from it. What is
    not abstract is as in plain training.

    On several processes each has one, and all take the same steps together; all other questions,
    and the calls of `open` and `close`, are for that of the first process alone.

    The order of calls: `restore` if a checkpoint is there, `open`, then `take` for every step that
    is left, with all other questions in between, and `close`, also after an error.
    """

    tells_text: ClassVar[bool] = True
    """Whether losses and perplexities of the training text may be told."""

    @property
    @abstractmethod
    def per_epoch(self) -> int:
        """Steps that make an epoch."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Steps of the whole training; final after `open`."""

    @abstractmethod
    def take(self, step: int) -> Taken:
        """Take step number `step`. A function of the step, the weights and what checkpoints keep,
        so that a resumed training goes on as if it had never stopped.
        """

    @abstractmethod
    def record(self, steps: int) -> MitigationRecord:
        """What the config of the model after `steps` steps says of the mitigation."""

    def open(self, out: Path, done: int) -> None:
        """Begin, or resume where a checkpoint in `out` holds `done` steps."""
        return

    def close(self) -> None:
        """Let go of what `open` has opened."""
        return

    def snapshots_after(self, steps: int) -> Sequence[str] | None:
        """The names of the snapshots that are due after so many steps; None: the settings of the
        training decide.
        """
        return None

    def checkpoint_after(self, steps: int) -> bool:
        """Whether a checkpoint is due after so many steps, beside those of the settings."""
        return False

    @property
    def warnings(self) -> Sequence[str]:
        """What somebody should know before the first step, a sentence each."""
        return ()

    @property
    def missed(self) -> Mapping[str, str]:
        """Snapshots that were asked for and will not be taken, by name: why, a sentence each."""
        return {}

    @property
    def extra_networks(self) -> Mapping[str, TrainedNetwork]:
        """The networks that are trained beside the model, by names that are good for files."""
        return {}

    def state(self) -> Mapping[str, Any]:
        """What else a checkpoint must keep: tensors and plain JSON values, by name."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the `state` of a checkpoint; networks and optimizers are in place already."""
        return

    def history(self, steps: int) -> Mapping[str, float | None]:
        """Numbers for the history's line after so many steps, beside the usual ones."""
        return {}
