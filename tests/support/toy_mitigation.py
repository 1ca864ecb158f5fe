"""A toy mitigation: a probe learns authors from the last states of a batch's texts, and the model
is pulled towards the mean of those states. One class, its settings and record, one registration.
"""

import hashlib
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.mitigations.mitigation import Mitigation, Taken, TrainedNetwork
from leakscope.training.mitigations.registry import MITIGATIONS, Registered
from leakscope.training.steps.loss import output_loss
from leakscope.training.steps.plain_step import descend


@dataclass(frozen=True)
class ToySettings(MitigationSettings):
    kind: ClassVar[str] = "toy"
    title: ClassVar[str] = "toy mitigation"

    weight: float = 0.1


class ToyRecord(MitigationRecord):
    kind: Literal["toy"] = "toy"
    weight: float
    probe: str
    """Digest of the extra network's weights."""
    seen: int


class Toy(Mitigation):
    def __init__(self, settings, bench):
        self.settings, self.bench = settings, bench
        self.users = np.unique(bench.documents.users)
        width = bench.network.architecture.hidden
        made = torch.Generator().manual_seed(bench.seed)
        self.probe = torch.nn.Linear(width, len(self.users))
        torch.nn.init.normal_(self.probe.weight, generator=made)
        torch.nn.init.zeros_(self.probe.bias)
        self.learner = torch.optim.Adam(self.probe.parameters(), lr=bench.learning_rate)
        self.centre, self.seen = torch.zeros(width), 0

    @property
    def per_epoch(self):
        return self.bench.text.steps(self.bench.batch_size)

    @property
    def total(self):
        return self.per_epoch * self.bench.epochs

    def take(self, step):
        bench = self.bench
        epoch, at = divmod(step, self.per_epoch)
        rng = np.random.default_rng([bench.seed, epoch])
        pieces = bench.text.order(bench.batch_size, rng)[at]
        batch = bench.text.batch(pieces)
        owners = bench.documents.users[bench.text.documents_of(pieces)]
        states = bench.network.hidden(batch.inputs, bench.generator.manual_seed(step))
        rows = batch.places // batch.inputs.shape[1]
        ends = torch.bincount(rows) - 1
        last = states[torch.arange(len(ends)), ends]
        output = bench.network.output
        own = output_loss(
            states.flatten(0, 1)[batch.places], output.weight, output.bias, batch.labels
        )
        share = self.settings.weight * step / self.total  # a schedule
        pull = share * (last - self.centre).square().mean()
        descend(bench.network, bench.optimizer, own + pull, bench.clip)
        self._learn(last.detach(), owners)
        return Taken(float(own.detach()) * len(batch.labels), len(batch.labels))

    def _learn(self, states, owners):
        labels = torch.from_numpy(np.searchsorted(self.users, owners))
        self.learner.zero_grad()
        torch.nn.functional.cross_entropy(self.probe(states), labels).backward()
        self.learner.step()
        self.centre = 0.9 * self.centre + 0.1 * states.mean(0)
        self.seen += len(states)

    @property
    def extra_networks(self):
        return {"probe": TrainedNetwork(self.probe, self.learner)}

    def state(self):
        return {"centre": self.centre, "seen": self.seen}

    def restore(self, state):
        self.centre, self.seen = state["centre"], state["seen"]

    def history(self, steps):
        return {"centre": float(self.centre.norm())}

    def record(self, steps):
        weights = [*self.probe.parameters(), self.centre]
        data = b"".join(each.detach().numpy().tobytes() for each in weights)
        found = hashlib.blake2b(data, digest_size=8).hexdigest()
        return ToyRecord(weight=self.settings.weight, probe=found, seen=self.seen)


TOY = Registered(ToySettings, lambda: ToyRecord, Toy)


def register() -> None:
    MITIGATIONS["toy"] = TOY
