"""What a private loop asks of a loss of the caller's: one for each row, and of that row alone."""

from typing import Any

import torch
from torch import Tensor, nn

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.module_clipper import LossOf
from leakscope.training.dp.custom_loop.user_texts import UserTexts, tensors_of
from leakscope.training.dp.sampling import Draw

_COARSE = (torch.float16, torch.bfloat16)


def by_row(loss_of: LossOf) -> LossOf:
    """The same loss, refused where it is not one number for each row."""

    def losses(network: nn.Module, rows: Any) -> Tensor:
        found = loss_of(network, rows)
        if found.shape != (len(next(tensors_of(rows))),):
            raise LeakscopeError("loss_of must give one loss for each row, summed over its words.")
        return found

    return losses


@torch.no_grad()
def check_apart(network: nn.Module, loss_of: LossOf, texts: UserTexts, draw: Draw) -> None:
    """Refuse losses of a user that change when another user stands beside it in the batch: then
    one user more or less would change more than one term of the sum. `draw` has two users or more.
    """
    alone = loss_of(network, texts.batch(draw.first(1))).double()
    beside = loss_of(network, texts.batch(draw.first(2)))[: len(alone)].double()
    coarse = any(weight.dtype in _COARSE for weight in network.parameters())
    scale = float(torch.maximum(alone.abs(), beside.abs()).max())
    if float((alone - beside).abs().max()) > (0.05 if coarse else 1e-3) * scale:
        raise LeakscopeError(
            "A user's loss depends on other users in the batch, so clipping would not bound what "
            "one user changes; make loss_of and collate treat every row by itself."
        )
