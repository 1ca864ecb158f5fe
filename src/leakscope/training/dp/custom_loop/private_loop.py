"""`PrivateLoop`: private steps in a loop of one's own, for any network."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import torch
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.carried_privacy import write_carried
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.training.dp.accounting.accountant import spent
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.caveats import CUSTOM_LOOP, caveats_of
from leakscope.training.dp.clipping.clipper import clear
from leakscope.training.dp.clipping.module_clipper import LossOf, ModuleClipper
from leakscope.training.dp.custom_loop.isolation_guard import (
    Guard,
    trained,
)
from leakscope.training.dp.custom_loop.ledger_directory import LedgerDirectory
from leakscope.training.dp.custom_loop.losses import check_surroundings
from leakscope.training.dp.custom_loop.saved_weights import check_saved
from leakscope.training.dp.custom_loop.user_texts import (
    UserTexts,
)
from leakscope.training.dp.custom_loop.users_apart import ApartCheck, CheckTimes, StepRows
from leakscope.training.dp.ledger import Ledger
from leakscope.training.dp.noise.noise_source import NoiseSource
from leakscope.training.dp.noisy_gradient import release
from leakscope.training.dp.privacy_plan import PrivacyPlan
from leakscope.training.dp.sampling import PoissonSampler


@dataclass(frozen=True)
class PrivateStep:
    """A step that was taken. It tells nothing of the text: not even how many users were drawn."""

    step: int
    """Steps that the weights now hold: 1, 2, 3, ..."""
    total: int
    """Steps at the end."""
    snapshots: tuple[str, ...]
    """The names of the snapshots that are due now by `snapshot_at_epsilon`."""
    delta: float
    phases: tuple[Phase, ...]
    """All that has been spent, steps lost in crashes included."""

    def epsilon(self) -> float | None:
        """What has been spent up to now, at `delta`; takes some 0.1 s. None: see `record()`."""
        return spent(self.phases, self.delta).epsilon


@dataclass(frozen=True, eq=False)
class Mechanism:
    """What makes a step private."""

    plan: PrivacyPlan
    sampler: PoissonSampler
    clipper: ModuleClipper
    noise: NoiseSource
    ledger: Ledger
    directory: LedgerDirectory
    """The ledger's."""


class PrivateLoop:
    """Each iteration takes one private step; make it by `make_private`.

    The optimizer belongs to the loop until `close()`, or the end of a `with` block.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        texts: UserTexts,
        loss_of: LossOf,
        mechanism: Mechanism,
        *,
        steps: int,
        done: int,
    ) -> None:
        self._network, self._texts = network, texts
        self._mechanism, self._done = mechanism, done
        self._apart = ApartCheck(network, mechanism.plan.clip, loss_of, texts)
        self._checks = CheckTimes()
        self._schedule = mechanism.plan.schedule(mechanism.ledger.phases, done, steps)
        self._guard, self._closed = Guard(network, optimizer), False

    @property
    def plan(self) -> PrivacyPlan:
        """The settings made definite: noise, rate, delta."""
        return self._mechanism.plan

    @property
    def done(self) -> int:
        """Steps that the weights hold: keep it with a checkpoint, for `make_private(done=...)`."""
        return self._done

    @property
    def total(self) -> int:
        """Steps at the end; fewer than asked for where lost steps have spent the target epsilon."""
        return self._schedule.total

    @property
    def due(self) -> tuple[str, ...]:
        """The names of the snapshots that are due for the weights as they are now; after a resume,
        also those that a crash kept from being saved.
        """
        return self._schedule.due.get(self._done, ())

    @property
    def missed(self) -> dict[str, str]:
        """The snapshots that will not be due any more, by their names, and why; after a resume,
        those that were due before it are among them.
        """
        return self._schedule.missed

    def __iter__(self) -> Iterator[PrivateStep]:
        while self._done < self.total:
            yield self.take()

    def take(self) -> PrivateStep:
        """Take one step. One that draws nobody adds noise and counts like any other."""
        if self._closed:
            raise LeakscopeError("The private loop is closed; make another.")
        if self._done >= self.total:
            raise LeakscopeError("All steps of the private loop have been taken.")
        check_surroundings(trained(self._network)[0].device)
        self._guard.check()
        self._network.eval()
        try:
            self._write_sum()
            private = self._mechanism
            release(trained(self._network), private.plan, private.ledger, private.noise, self._done)
            self._guard.step()
        finally:
            self._guard.clear()  # after an error, they may be without noise
        self._done += 1
        spent_now = self._mechanism.ledger.phases
        return PrivateStep(self._done, self.total, self.due, self.plan.delta, spent_now)

    def record(self) -> PrivacyRecord:
        """What the weights guarantee now, and what not."""
        plan = self.plan
        caveats = caveats_of(
            plan.unit,
            plan.units,
            plan.delta,
            insecure=plan.insecure,
            warm_started=True,  # nobody knows here where the weights come from
            public_vocabulary=True,  # CUSTOM_LOOP says what there is to say of it
        )
        return plan.record(self._mechanism.ledger.phases, self._done, [*caveats, CUSTOM_LOOP])

    def save_record(self, folder: Path | str) -> Path:
        """Write what the weights guarantee now into the directory in which they have just been
        saved, as by `save_pretrained`: `report` finds it there. It counts for these weights only.
        """
        self._guard.check_values()
        check_saved(trained(self._network), Path(folder))
        return write_carried(Path(folder), self.record())

    def close(self) -> None:
        """Give the optimizer back and close the ledger; what was spent can still be asked for."""
        if not self._closed:
            self._closed = True
            self._guard.close()
            self._mechanism.ledger.close()
            self._mechanism.directory.close(finished=self._done >= self.total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write_sum(self) -> None:
        """Set gradients to the sum of the clipped ones of the step's users."""
        draw = self._mechanism.sampler.draw(self._done)
        if not len(draw):
            clear(trained(self._network))
            return
        users = np.repeat(np.arange(len(draw)), np.diff(draw.offsets))
        words = np.bincount(users, draw.sizes, len(draw))
        due = self._checks.due(len(draw))
        with self._guard.clipping(thorough=due):
            rows = StepRows(self._texts.batch(draw), users, 1 / torch.from_numpy(words))
            if due:
                self._apart.write(self._mechanism.clipper, draw, rows)
            else:
                self._mechanism.clipper.write(rows.batch, users, len(draw), rows.shares)
