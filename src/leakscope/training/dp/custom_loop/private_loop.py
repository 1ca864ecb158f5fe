"""`make_private`: private training in a loop of one's own, for any network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from leakscope.records.artifacts import private_directory
from leakscope.records.dp_record import PrivacyRecord
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.accountant import spent
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.caveats import OWN_LOOP, caveats_of
from leakscope.training.dp.clipping.clipper import clear
from leakscope.training.dp.clipping.modules import LossOf, ModuleClipper, next_token_loss
from leakscope.training.dp.custom_loop.isolation_guard import (
    Guard,
    check_network,
    check_optimizer,
    trained,
)
from leakscope.training.dp.custom_loop.losses import by_row, check_apart
from leakscope.training.dp.custom_loop.user_texts import (
    Collate,
    ExampleTexts,
    TokenTexts,
    UserTexts,
    check_data,
)
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import Ledger, open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.plan import PrivacyPlan, plan_of
from leakscope.training.dp.release import release
from leakscope.training.dp.sampling import PoissonSampler, user_source


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


class PrivateLoop:
    """Each iteration takes one private step; make it by `make_private`.

    The optimizer belongs to the loop until `close()`, or the end of a `with` block.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        texts: UserTexts,
        plan: PrivacyPlan,
        loss_of: LossOf,
        sampler: PoissonSampler,
        ledger: Ledger,
        *,
        settings: PrivacySettings,
        steps: int,
        done: int,
    ) -> None:
        self._network, self._texts, self._plan = network, texts, plan
        self._loss_of, self._sampler, self._ledger = loss_of, sampler, ledger
        self._clipper = ModuleClipper(network, plan.clip, loss_of, method=settings.method)
        self._noise, self._done, self._apart = noise_source(settings.insecure_seed), done, False
        self._schedule = plan.schedule(ledger.phases, done, steps)
        self._guard, self._closed = Guard(network, optimizer), False

    @property
    def plan(self) -> PrivacyPlan:
        """The settings made definite: noise, rate, delta."""
        return self._plan

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
        self._guard.check()
        self._network.eval()
        try:
            self._write_sum()
            release(trained(self._network), self._plan, self._ledger, self._noise, self._done)
            self._guard.step()
        finally:
            self._guard.clear()  # after an error, they may be without noise
        self._done += 1
        return PrivateStep(self._done, self.total, self.due, self._plan.delta, self._ledger.phases)

    def record(self) -> PrivacyRecord:
        """What the weights guarantee now, and what not."""
        plan = self._plan
        caveats = caveats_of(
            plan.unit,
            plan.units,
            plan.delta,
            insecure=plan.insecure,
            warm_started=True,  # nobody knows here where the weights come from
            public_vocabulary=True,  # OWN_LOOP says what there is to say of it
        )
        return plan.record(self._ledger.phases, self._done, [*caveats, OWN_LOOP])

    def close(self) -> None:
        """Give the optimizer back and close the ledger; what was spent can still be asked for."""
        if not self._closed:
            self._closed = True
            self._guard.close()
            self._ledger.close()

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
        draw = self._sampler.draw(self._done)
        if not len(draw):
            clear(trained(self._network))
            return
        users = np.repeat(np.arange(len(draw)), np.diff(draw.offsets))
        words = np.bincount(users, draw.sizes, len(draw))
        with self._guard.clipping():
            if len(draw) > 1 and not self._apart:
                check_apart(self._network, self._loss_of, self._texts, draw)
                self._apart = True
            batch = self._texts.batch(draw)
            self._clipper.write(batch, users, len(draw), 1 / torch.from_numpy(words))


def make_private(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Sequence[Any],
    settings: PrivacySettings,
    *,
    steps: int,
    out: Path | str,
    loss_of: LossOf = next_token_loss,
    collate: Collate | None = None,
    seed: int = 0,
    done: int = 0,
) -> PrivateLoop:
    """A loop of `steps` differentially private steps that train `model` by `optimizer`.

    `data` has one entry for each user: the list of that user's documents, each a list of token
    ids; with unit "document", every document is a unit of its own. With a `collate` of your own,
    documents are examples of any kind: each becomes one row, is never cut, and counts as one word.
    `loss_of` gives the summed loss of each row, whatever other rows there are; a user's loss is
    the mean over its words.

    `out` gets the ledger of what was spent. To resume, load your checkpoint and give the number
    of steps that it holds as `done`; steps after it are lost and stay spent. `seed` orders each
    user's own documents and need not be secret. The model is put into eval mode: no dropout.
    """
    if steps < 1 or not 0 <= done <= steps:
        raise LeakscopeError("Ask for at least 1 step, and no fewer than are done already.")
    if not 0 <= seed < 2**63:
        raise LeakscopeError("The seed must be at least 0 and below 2^63.")
    check_network(model)
    check_optimizer(optimizer, model)
    check_data(data)
    texts: UserTexts
    if collate is None:
        texts = TokenTexts(data, settings.unit, trained(model)[0].device)
        _check_context(model, min(int(texts.units.sizes.max()), settings.words_per_user) + 1)
    else:
        texts = ExampleTexts(data, settings.unit, collate)
    plan = plan_of(settings, len(texts.units), steps)
    sampler = PoissonSampler(
        texts.units,
        plan.rate,
        plan.words_per_user,
        seed=seed,
        source=user_source(settings.insecure_seed),
    )
    ledger = open_ledger(
        private_directory(Path(out)),
        plan.terms(texts.digest),
        done,
        calibrated=plan.target_epsilon is not None,
    )
    return PrivateLoop(
        model,
        optimizer,
        texts,
        plan,
        by_row(loss_of),
        sampler,
        ledger,
        settings=settings,
        steps=steps,
        done=done,
    )


def _check_context(model: nn.Module, longest: int) -> None:
    """Refuse rows of more tokens than a Hugging Face network has positions for."""
    context = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if isinstance(context, int) and longest > context:
        raise LeakscopeError(
            f"The model reads at most {context} tokens at a time; cut documents into pieces of at "
            f"most so many, or lower words_per_user."
        )
