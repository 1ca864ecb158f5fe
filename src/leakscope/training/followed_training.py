"""A training in the processes that follow the first one: the same steps, and nothing is written."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError
from leakscope.training.checkpoint import Checkpoint, load_checkpoint
from leakscope.training.distributed.rank_group import RankGroup
from leakscope.training.mitigations.mitigation import Mitigation, Taken, TrainedNetwork
from leakscope.training.mitigations.registry import registered
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_setup import StartingPoint, TrainingSetup


@dataclass(frozen=True)
class FollowedTraining:
    """What another process needs to take the steps of a training; it can be sent there."""

    corpus: Path
    settings: TrainSettings
    start_from: StartingPoint
    out: Path
    state: Checkpoint | None
    """Where the training is resumed."""

    def start(self, ranks: RankGroup) -> "FollowedSteps":
        """See `Task`."""
        corpus = Corpus.open(self.corpus)
        setup = TrainingSetup(corpus, self.settings, self.start_from, ranks, self.out)
        given = self.settings.mitigation
        mitigation = registered(given.kind).start(given, setup.workbench())
        if self.state is not None:
            trained = TrainedNetwork(setup.model.network, setup.optimizer)
            load_checkpoint(self.out, self.state, trained, mitigation)
        return FollowedSteps(setup.model.network, mitigation)


@dataclass(frozen=True)
class FollowedSteps:
    """See `Steps`."""

    network: nn.Module
    mitigation: Mitigation

    def take(self, step: int) -> Taken:
        """See `Steps`."""
        return self.mitigation.take(step)

    def digest(self) -> bytes:
        """See `Steps`."""
        return weights_of(self.network)


def weights_of(network: nn.Module) -> bytes:
    """The digest of a network's weights."""
    found = hashlib.blake2b(digest_size=16)
    for weight in network.parameters():
        found.update(weight.detach().cpu().contiguous().numpy().data)
    return found.digest()


def check_workers(settings: TrainSettings, workers: int) -> None:
    """Refuse several workers where they cannot share a step."""
    mitigation = settings.mitigation
    if workers > 1 and not registered(mitigation.kind).shared:
        raise LeakscopeError(
            f"A step with {mitigation.title} needs all its texts in one process; leave out "
            f"--workers."
        )
