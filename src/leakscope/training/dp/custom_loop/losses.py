"""What a private loop asks of a loss of the caller's: one for each row, with a gradient, in full
precision.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.module_clipper import LossOf
from leakscope.training.dp.custom_loop.user_texts import tensors_of

COARSE = (torch.float16, torch.bfloat16)


def by_row(loss_of: LossOf) -> LossOf:
    """The same loss, refused where it is not one number for each row, or has no gradient that can
    be told of single users.
    """
    examined = False

    def losses(network: nn.Module, rows: Any) -> Tensor:
        nonlocal examined
        found = loss_of(network, rows)
        if found.shape != (len(next(tensors_of(rows))),):
            raise LeakscopeError("loss_of must give one loss for each row, summed over its words.")
        if torch.is_grad_enabled() and not found.requires_grad:
            raise LeakscopeError(
                "The losses have no gradients; leave torch.no_grad and torch.inference_mode out of "
                "the network and of loss_of."
            )
        if torch.is_grad_enabled() and not examined:
            _refuse_reentrant(found)
            examined = True
        return found

    return losses


def _refuse_reentrant(losses: Tensor) -> None:
    """PyTorch would leave out the weights inside of reentrant checkpoints, without a word."""
    due, seen = [losses.grad_fn], {None, losses.grad_fn}
    while due:
        node = due.pop()
        if node is None:
            continue
        if node.name() == "CheckpointFunctionBackward":
            raise LeakscopeError(
                "Reentrant activation checkpointing gives no gradients of single users; call "
                "torch.utils.checkpoint with use_reentrant=False."
            )
        after = {each for each, _ in node.next_functions} - seen
        seen |= after
        due += after


@contextmanager
def full_precision(network: nn.Module) -> Iterator[None]:
    """While open, refuse layers that give half precision where no weight has it: then rounding,
    which depends on who shares a batch, would be coarser than the clip allows.
    """
    if any(weight.dtype in COARSE for weight in network.parameters()):
        yield  # frozen ones: docs/privacy.md says what that costs
        return

    def look(layer: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.dtype in COARSE:
            raise autocasting()

    handles = [layer.register_forward_hook(look) for layer in network.modules()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def check_surroundings(device: torch.device) -> None:
    """Refuse to take a step where PyTorch was told to compute otherwise."""
    if torch.is_inference_mode_enabled():
        raise LeakscopeError("Make and run the private loop outside of torch.inference_mode().")
    if torch.is_autocast_enabled(device.type):
        raise autocasting()


def autocasting() -> LeakscopeError:
    """The error for computing in half precision with weights that are not."""
    return LeakscopeError(
        "Train without autocast: in half precision, rounding adds more than the clip allows; to "
        "save memory, convert frozen weights to bfloat16 instead."
    )
