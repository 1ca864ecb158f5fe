"""Private training: users drawn at random, their gradients clipped, noise added."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from leakscope.records.models.dp_record import PrivacyRecord, doubts_about
from leakscope.training.dp.caveats import caveats_of
from leakscope.training.dp.clipping.clipper import Clipper, clear
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import Ledger, open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.noisy_gradient import release
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.privacy_units import units_of
from leakscope.training.dp.sampling import PoissonSampler, user_source
from leakscope.training.dp.schedule import Schedule
from leakscope.training.dp.weight_growth import EVERY, WeightGrowth
from leakscope.training.mitigations.mitigation import Mitigation, Taken, Workbench


class PrivateTraining(Mitigation):
    """Differentially private steps (see `docs/privacy.md`). What was spent is on the disk before a
    step changes anything, so no crash loses it.
    """

    tells_text: ClassVar[bool] = False  # its figures would be without noise

    def __init__(self, settings: PrivacySettings, bench: Workbench) -> None:
        self._bench = bench
        units = units_of(bench.documents, bench.max_words, settings.unit)
        self._per_epoch = math.ceil(1 / settings.rate_of(len(units)))
        self._asked = self._per_epoch * bench.epochs
        self.plan = plan_of(settings, len(units), self._asked, by_step=True)
        self._sampler = PoissonSampler(
            units,
            self.plan.rate,
            self.plan.words_per_user,
            seed=bench.seed,
            source=user_source(settings.insecure_seed),
        )
        self._noise = noise_source(settings.insecure_seed)
        self._clipper = Clipper(
            bench.network, self.plan.clip, method=settings.method, words=settings.words_at_a_time
        )
        self._growth = WeightGrowth(bench.network.parameters())
        self._ledger: Ledger | None = None
        self._known: str | None = None
        self._schedule = Schedule(self._asked, {}, {})

    def open(self, out: Path, done: int) -> None:
        """Begin or resume the ledger in `out`."""
        terms, calibrated = (
            self.plan.terms(self._bench.text_digest),
            self.plan.target_epsilon is not None,
        )
        self._ledger = open_ledger(
            out, terms, done, calibrated=calibrated, known=self._known if done else None
        )
        self._schedule = self.plan.schedule(self._ledger.phases, done, self._asked)

    def close(self) -> None:
        """Let others write into the ledger."""
        if self._ledger is not None:
            self._ledger.close()

    @property
    def per_epoch(self) -> int:
        """Steps in which each user takes part once, on average."""
        return self._per_epoch

    @property
    def total(self) -> int:
        """See `Mitigation`; fewer than asked for where lost steps have spent the target epsilon."""
        return self._schedule.total

    @property
    def ledger(self) -> Ledger:
        """What was spent."""
        if self._ledger is None:
            raise RuntimeError("open() comes first")
        return self._ledger

    def snapshots_after(self, steps: int) -> tuple[str, ...] | None:
        """Those at epsilons, if any are asked for."""
        if not self.plan.snapshot_at_epsilon:
            return None
        return self._schedule.due.get(steps, ())

    def checkpoint_after(self, steps: int) -> bool:
        """One is due before a step with a snapshot at an epsilon: should a crash lose that step,
        which is spent then, there is something to make the snapshot of.
        """
        return bool(self._schedule.due.get(steps + 1))

    @property
    def warnings(self) -> Sequence[str]:
        """Why the guarantee will say nothing, if so."""
        return doubts_about(self.plan.unit, self.plan.units, self.plan.delta)

    @property
    def missed(self) -> Mapping[str, str]:
        """See `Schedule`."""
        return self._schedule.missed

    def take(self, step: int) -> Taken:
        """See `Mitigation`. A step that draws nobody adds noise and counts like any other. It tells
        no loss and no number of words, since those are without noise.
        """
        bench, now = self._bench, self.plan.at(step)
        units = bench.ranks.decided(lambda: self._sampler.choose(step, now.rate))
        draw = self._sampler.draw_of(units, step)
        draw = draw.take(bench.ranks.share(draw.words))
        if len(draw):
            batch = bench.text.batch(draw.pieces, draw.sizes)
            users = np.repeat(np.arange(len(draw)), np.diff(draw.offsets))
            self._clipper.write(batch, users, len(draw), now.clip)
        else:
            clear(bench.network.parameters())
        self._release(step)
        bench.optimizer.step()
        if (step + 1) % EVERY == 0:
            self._growth.now(step + 1)
        return Taken(0.0, 0)

    def _release(self, step: int) -> None:
        """Make the private gradient of all processes' clipped sums, with one line in the one ledger
        and one noise.
        """
        weights = list(self._bench.network.parameters())
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        self._bench.ranks.add_up(gradients)
        self._bench.ranks.once(
            lambda: release(weights, self.plan, self.ledger, self._noise, step), gradients
        )

    def state(self) -> Mapping[str, Any]:
        """Where the ledger stands, so that a resumed training notices if lines are missing. Weights
        that are no numbers are not kept.
        """
        self._growth.now(self.ledger.next_step)
        return {"ledger": self.ledger.head}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Mitigation`; checkpoints of older versions do not say it."""
        self._known = state.get("ledger")

    def history(self, steps: int) -> Mapping[str, float | None]:
        """The epsilon that has been spent, and how far the weights have grown."""
        found = self.plan.epsilon(self.ledger.phases)
        growth = self._growth.now(steps)
        return {"epsilon": None if math.isinf(found) else found, "weight_growth": growth}

    def record(self, steps: int) -> PrivacyRecord:
        """What the weights after `steps` steps guarantee."""
        caveats = caveats_of(
            self.plan.unit,
            self.plan.units,
            self.plan.delta,
            insecure=self.plan.insecure,
            warm_started=self._bench.warm_started,
            public_vocabulary=self._bench.public_vocabulary,
            vocabulary_users=self._bench.vocabulary_users,
        )
        told = [*self._growth.caveats(steps), *caveats]
        return self.plan.record(self.ledger.phases, steps, told)


def start(settings: PrivacySettings, bench: Workbench) -> PrivateTraining:
    """Private training on a workbench."""
    return PrivateTraining(settings, bench)
