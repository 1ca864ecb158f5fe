"""What a private loop asks of a network and its optimizer, and that nobody else trains them."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DataParallel, DistributedDataParallel

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.custom_loop.weight_sums import same, sums_of


def check_network(network: nn.Module) -> None:
    """Refuse networks in which users meet, or whose weights are too coarse to be clipped."""
    if isinstance(network, DataParallel | DistributedDataParallel):
        raise LeakscopeError("Give the network itself: each copy would draw users of its own.")
    if any(isinstance(layer, _BatchNorm) for layer in network.modules()):
        raise LeakscopeError(
            "The network has batch normalization, in which users meet; put layer or group "
            "normalization in its place."
        )
    if any(_is_compiled(layer) for layer in network.modules()):
        raise LeakscopeError(
            "Give the network without torch.compile: compiled code hides its layers, into which "
            "clipping looks; it can be compiled after the training."
        )
    if any(each.is_inference() for each in [*network.parameters(), *network.buffers()]):
        raise LeakscopeError(
            "The network was made in torch.inference_mode(), so it cannot be trained; make or load "
            "it outside."
        )
    weights = trained(network)
    if not weights:
        raise LeakscopeError("No weight of the network requires a gradient.")
    if any(weight.dtype not in (torch.float32, torch.float64) for weight in weights):
        raise LeakscopeError(
            "The trained weights must be float32 or float64: in half precision, rounding adds more "
            "than the clip allows; frozen weights may be of any kind."
        )


def check_optimizer(optimizer: torch.optim.Optimizer, network: nn.Module) -> None:
    """Refuse an optimizer that would train other weights, or needs more than gradients."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise LeakscopeError("The optimizer must be one of PyTorch's kind.")
    hooks = getattr(optimizer, "_optimizer_step_pre_hooks", None)
    if hooks is None:
        raise LeakscopeError(
            "Give the optimizer itself: a wrapper around it may leave out or repeat steps."
        )
    if any(isinstance(getattr(hook, "__self__", None), Guard) for hook in hooks.values()):
        raise LeakscopeError("The optimizer belongs to a private loop already; close() that first.")
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise LeakscopeError(
            "This optimizer computes gradients of its own, without noise; use another, such as SGD "
            "or AdamW."
        )
    held = {id(weight) for weight in _held(optimizer) if weight.requires_grad}
    if held != {id(weight) for weight in trained(network)}:
        raise LeakscopeError(
            "The optimizer must hold exactly the network's weights that require a gradient; make "
            "it from them after freezing and adding adapters."
        )


def _is_compiled(layer: nn.Module) -> bool:
    """By name, since importing the compiler takes a while."""
    return type(layer).__name__ == "OptimizedModule" or layer._compiled_call_impl is not None


def trained(network: nn.Module) -> list[nn.Parameter]:
    """The weights that are trained."""
    return [weight for weight in network.parameters() if weight.requires_grad]


class Guard:
    """Sees to it that weights change by private steps only."""

    def __init__(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """`network` and `optimizer` have been checked."""
        self._network, self._optimizer = network, optimizer
        self._weights, self._groups = trained(network), _ids(optimizer)
        self._stepping, self._stepped = False, 0
        optimizer.zero_grad(set_to_none=True)  # what was there before has no noise
        self._versions, self._sums = _versions(self._weights), sums_of(self._weights)
        self._hook = optimizer.register_step_pre_hook(self._before_step)

    def check(self) -> None:
        """Refuse to go on where somebody trained the weights, or is about to, since the last
        step.
        """
        if any(weight.grad is not None and bool(weight.grad.any()) for weight in self._held()):
            raise LeakscopeError(
                "There are gradients between private steps; leave out backward(), also for "
                "gradient accumulation: they have no noise."
            )
        same = [id(weight) for weight in trained(self._network)]
        if same != list(map(id, self._weights)) or _ids(self._optimizer) != self._groups:
            raise LeakscopeError(
                "The trained weights are not those that make_private was given; make the loop anew "
                "after freezing weights or adding some."
            )
        if _versions(self._weights) != self._versions:
            raise _changed()

    def check_values(self) -> None:
        """Refuse weights whose values changed since the last step, however that was done."""
        if not same(self._sums, sums_of(self._weights)):
            raise _changed()

    @contextmanager
    def clipping(self, *, thorough: bool) -> Iterator[None]:
        """While users' texts go through the network: it must not remember them in its buffers,
        where no noise is added, nor in its weights. `thorough` looks at all values of buffers.
        """
        before, values = _buffers(self._network), self._buffer_sums() if thorough else []
        yield
        self.check_values()
        if _buffers(self._network) != before or (
            thorough and not same(values, self._buffer_sums())
        ):
            raise LeakscopeError(
                "The network keeps figures of the text in its buffers, without noise; freeze or "
                "remove the layers that do."
            )

    def step(self) -> None:
        """Let the optimizer take its step."""
        self._stepping, self._stepped = True, 0
        try:
            self._optimizer.step()
        finally:
            self._stepping = False
        if self._stepped != 1:
            raise LeakscopeError(
                "The optimizer did not take exactly one step; give the optimizer itself, without a "
                "wrapper."
            )
        self._versions, self._sums = _versions(self._weights), sums_of(self._weights)

    def clear(self) -> None:
        """Leave no gradients to the caller."""
        for weight in [*self._weights, *self._held()]:
            weight.grad = None

    def close(self) -> None:
        """Give the optimizer back."""
        self._hook.remove()

    def _before_step(self, *_: Any) -> None:
        if not self._stepping:
            raise LeakscopeError(
                "The private loop itself calls the optimizer; leave out optimizer.step(), or "
                "close() the loop first."
            )
        self._stepped += 1

    def _buffer_sums(self) -> list[torch.Tensor]:
        return sums_of(self._network.buffers())

    def _held(self) -> list[torch.Tensor]:
        return _held(self._optimizer)


def _changed() -> LeakscopeError:
    return LeakscopeError(
        "The weights changed between private steps, so epsilon would not cover them; load a "
        "checkpoint before make_private, and leave all training to the loop."
    )


def _held(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def _ids(optimizer: torch.optim.Optimizer) -> list[int]:
    return [id(weight) for weight in _held(optimizer)]


def _versions(weights: list[nn.Parameter]) -> list[int]:
    """Numbers that grow with each change that PyTorch counts."""
    return [weight._version for weight in weights]


def _buffers(network: nn.Module) -> list[tuple[str, int, int]]:
    return [(name, id(each), each._version) for name, each in network.named_buffers()]
