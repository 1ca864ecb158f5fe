"""Steps of private training: users drawn at random, their gradients clipped, noise added."""

import math
from pathlib import Path

import numpy as np
import torch

from leakscope.models.word.networks import Network
from leakscope.records.documents import Documents
from leakscope.records.dp_record import PrivacyRecord
from leakscope.training.dp.caveats import caveats_of
from leakscope.training.dp.clipping import Clipper
from leakscope.training.dp.clipping.clipper import clear
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import Ledger, open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.plan import plan_of
from leakscope.training.dp.release import release
from leakscope.training.dp.sampling import PoissonSampler, user_source
from leakscope.training.dp.schedule import Schedule
from leakscope.training.dp.units import units_of
from leakscope.training.mitigations.plain import Taken
from leakscope.training.steps.batches import TrainingText
from leakscope.training.train_settings import TrainSettings


class PrivateSteps:
    """Differentially private steps (see `docs/privacy.md`). What was spent is on the disk before a
    step changes anything, so no crash loses it.
    """

    def __init__(
        self,
        network: Network,
        optimizer: torch.optim.Optimizer,
        text: TrainingText,
        documents: Documents,
        settings: TrainSettings,
        privacy: PrivacySettings,
    ) -> None:
        """`text` is made of `documents`."""
        self._network, self._optimizer, self._text = network, optimizer, text
        units = units_of(documents, settings.max_words, privacy.unit)
        rate = privacy.rate_of(len(units))
        self._per_epoch = math.ceil(1 / rate)
        self._asked = self._per_epoch * settings.epochs
        self.plan = plan_of(privacy, len(units), self._asked)
        self._sampler = PoissonSampler(
            units,
            self.plan.rate,
            self.plan.words_per_user,
            seed=settings.seed,
            source=user_source(privacy.insecure_seed),
        )
        self._noise = noise_source(privacy.insecure_seed)
        self._clipper = Clipper(network, self.plan.clip, method=privacy.method)
        self._ledger: Ledger | None = None
        self._schedule = Schedule(self._asked, {}, {})

    def open(self, out: Path, text_digest: str, done: int) -> None:
        """Begin or resume the ledger in `out`, where a checkpoint holds `done` steps."""
        terms, calibrated = self.plan.terms(text_digest), self.plan.target_epsilon is not None
        self._ledger = open_ledger(out, terms, done, calibrated=calibrated)
        self._schedule = self.plan.schedule(self._ledger.phases, done, self._asked)

    @property
    def per_epoch(self) -> int:
        """Steps in which each user takes part once, on average."""
        return self._per_epoch

    @property
    def total(self) -> int:
        """See `Steps`; fewer than asked for where lost steps have spent the target epsilon."""
        return self._schedule.total

    @property
    def ledger(self) -> Ledger:
        """What was spent."""
        if self._ledger is None:
            raise RuntimeError("open() comes first")
        return self._ledger

    def close(self) -> None:
        """Let others write into the ledger."""
        if self._ledger is not None:
            self._ledger.close()

    def snapshots_after(self, steps: int) -> tuple[str, ...]:
        """The names of the snapshots that are due after so many steps."""
        return self._schedule.due.get(steps, ())

    @property
    def missed(self) -> dict[str, str]:
        """See `Schedule`."""
        return self._schedule.missed

    def take(self, step: int) -> Taken:
        """See `Steps`. A step that draws nobody adds noise and counts like any other. It tells no
        loss and no number of words, since those are without noise.
        """
        draw = self._sampler.draw(step)
        if len(draw):
            batch = self._text.batch(draw.pieces, draw.sizes)
            users = np.repeat(np.arange(len(draw)), np.diff(draw.offsets))
            self._clipper.write(batch, users, len(draw))
        else:
            clear(self._network.parameters())
        release(self._network.parameters(), self.plan, self.ledger, self._noise, step)
        self._optimizer.step()
        return Taken(0.0, 0)

    def record(
        self, steps: int, *, warm_started: bool, public_vocabulary: bool, vocabulary_users: int
    ) -> PrivacyRecord:
        """What the weights after `steps` steps guarantee."""
        caveats = caveats_of(
            self.plan.unit,
            self.plan.units,
            self.plan.delta,
            insecure=self.plan.insecure,
            warm_started=warm_started,
            public_vocabulary=public_vocabulary,
            vocabulary_users=vocabulary_users,
        )
        return self.plan.record(self.ledger.phases, steps, caveats)
