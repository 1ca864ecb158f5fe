"""`make_private`: private training in a loop of one's own, for any network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.module_clipper import LossOf, ModuleClipper, next_token_loss
from leakscope.training.dp.custom_loop.isolation_guard import (
    check_network,
    check_optimizer,
    trained,
)
from leakscope.training.dp.custom_loop.ledger_directory import LedgerDirectory
from leakscope.training.dp.custom_loop.losses import by_row, check_surroundings
from leakscope.training.dp.custom_loop.private_loop import Mechanism, PrivateLoop
from leakscope.training.dp.custom_loop.user_texts import (
    Collate,
    ExampleTexts,
    TokenTexts,
    UserTexts,
    check_data,
)
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.sampling import PoissonSampler, user_source


@dataclass(frozen=True)
class LoopOptions:
    """How a loop reads its data; by default, as token ids of which the next one is predicted."""

    loss_of: LossOf = next_token_loss
    """Gives the summed loss of each row of a batch, whatever other rows there are."""
    collate: Collate | None = None
    """Makes rows of documents that are examples of any kind. Each becomes one row, is never cut,
    and counts as one word. None: documents are lists of token ids."""
    seed: int = 0
    """Orders each user's own documents. It need not be secret."""
    restart: bool = False
    """Begin at step 0 in an `out` where steps were taken but no weights were kept: the steps count
    as spent."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise LeakscopeError("The seed must be at least 0 and below 2^63.")


USUAL = LoopOptions()


def make_private(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Sequence[Any],
    settings: PrivacySettings,
    *,
    steps: int,
    out: Path | str,
    options: LoopOptions = USUAL,
    done: int = 0,
) -> PrivateLoop:
    """A loop of `steps` differentially private steps that train `model` by `optimizer`.

    `data` has one entry for each user: the list of that user's documents, each a list of token
    ids, or examples that `options.collate` makes rows of. With unit "document", every document is
    a unit of its own. A user's loss is the mean over its words.

    `out` gets the ledger of what was spent, and belongs to the loop. To resume, load your
    checkpoint and give the number of steps that it holds as `done`; steps after it are lost and
    stay spent. The model is put into eval mode: no dropout.
    """
    if steps < 1 or not 0 <= done <= steps:
        raise LeakscopeError("Ask for at least 1 step, and no fewer than are done already.")
    check_network(model)
    check_optimizer(optimizer, model)
    check_surroundings(trained(model)[0].device)
    check_data(data)
    texts, loss_of = _texts(model, data, settings, options.collate), by_row(options.loss_of)
    plan = plan_of(settings, len(texts.units), steps)
    source = user_source(settings.insecure_seed)
    sampler = PoissonSampler(
        texts.units, plan.rate, plan.words_per_user, seed=options.seed, source=source
    )
    clipper = ModuleClipper(model, plan.clip, loss_of, method=settings.method)
    noise = noise_source(settings.insecure_seed)
    directory = LedgerDirectory(Path(out), done=done, restart=options.restart)
    try:
        ledger = open_ledger(
            directory.path,
            plan.terms(texts.digest),
            done,
            calibrated=plan.target_epsilon is not None,
        )
    except BaseException:
        directory.close(finished=False)
        raise
    mechanism = Mechanism(plan, sampler, clipper, noise, ledger, directory)
    loop = PrivateLoop(model, optimizer, texts, loss_of, mechanism, steps=steps, done=done)
    if not loop.total:
        loop.close()
        raise LeakscopeError(
            f"The steps in the ledger of {out} have spent the target epsilon already, so no step "
            f"is left; train into another out, and know that both epsilons add up."
        )
    return loop


def _texts(
    model: nn.Module, data: Sequence[Any], settings: PrivacySettings, collate: Collate | None
) -> UserTexts:
    if collate is not None:
        return ExampleTexts(data, settings.unit, collate)
    texts = TokenTexts(data, settings.unit, trained(model)[0].device)
    _check_context(model, min(int(texts.units.sizes.max()), settings.words_per_user) + 1)
    return texts


def _check_context(model: nn.Module, longest: int) -> None:
    """Refuse rows of more tokens than a Hugging Face network has positions for."""
    context = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if isinstance(context, int) and longest > context:
        raise LeakscopeError(
            f"The model reads at most {context} tokens at a time; cut documents into pieces of at "
            f"most so many, or lower words_per_user."
        )
