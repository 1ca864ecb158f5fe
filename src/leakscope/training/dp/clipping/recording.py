"""What the layers of any network take in, and the errors of what they give: by hooks, for the
layers whose gradients are sums of outer products or of rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn.functional import layer_norm, rms_norm

from leakscope.training.dp.clipping.norms.gradient_parts import Vectors, WeightPart
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.norms.tied_weights import Use, part_of


class UnknownLayerError(Exception):
    """A layer whose gradients of each user cannot be told from its inputs and errors."""


@dataclass(frozen=True)
class Call:
    """One call of a layer over n rows of text."""

    layer: nn.Module
    given: Tensor
    """[n, ...] what it took in."""
    version: int
    edge: GradientEdge
    """Where its output's errors come from."""


@dataclass
class Recording:
    """The calls of all layers with weights that are trained, in one forward pass."""

    rows: int
    calls: list[Call] = field(default_factory=list)
    noting: bool = True
    """Whether calls are noted; not while errors are computed, when checkpointed layers are called
    once more."""

    def parts(self, loss: Tensor, layout: Callable[[int], Layout]) -> list[WeightPart]:
        """The layers' parts in the gradient of `loss`; `layout(l)` is that of rows of l words."""
        self.noting = False
        errors = torch.autograd.grad(loss, [call.edge for call in self.calls], allow_unused=True)
        uses = _Uses(layout)
        for call, error in zip(self.calls, errors, strict=True):
            if call.given._version != call.version:
                raise UnknownLayerError("A layer's input was changed after it was used.")
            if error is not None:
                uses.add(call.layer, call.given, error)
        return uses.parts()


class _Uses:
    """The uses of each weight, of which there may be several."""

    def __init__(self, layout: Callable[[int], Layout]) -> None:
        self._layout = layout
        self._linear: dict[Tensor, list[Use]] = defaultdict(list)
        self._lookups: dict[Tensor, list[Use]] = defaultdict(list)
        self._vectors: dict[Tensor, list[tuple[Tensor, Layout]]] = defaultdict(list)

    def add(self, layer: Any, given: Tensor, error: Tensor) -> None:
        """A layer's call, by what it was given and the errors of what it gave, [n, ...] both."""
        layout = self._layout(error[0].numel() // error.shape[-1])
        errors = error.reshape(layout.rows, -1)
        if isinstance(layer, nn.Embedding):
            tokens = given.reshape(layout.rows)
            if layer.padding_idx is not None:  # which autograd does not train either
                errors = errors * (tokens != layer.padding_idx)[:, None]
            self._lookups[layer.weight].append((tokens, errors, layout))
            return
        if layer.weight.requires_grad:
            inputs = given.reshape(layout.rows, -1)
            if isinstance(layer, nn.Linear):
                self._linear[layer.weight].append((inputs, errors, layout))
            elif is_convolution(layer):  # its weight lies on its side
                self._linear[layer.weight].append((errors, inputs, layout))
            else:
                self._vectors[layer.weight].append((normalized(layer, inputs) * errors, layout))
        bias = getattr(layer, "bias", None)
        if bias is not None and bias.requires_grad:
            self._vectors[bias].append((errors, layout))

    def parts(self) -> list[WeightPart]:
        """The parts of all weights."""
        wide = {**self._linear, **self._lookups}
        return [
            *(part_of(self._linear[each], self._lookups[each], each) for each in wide),
            *(Vectors(rows, weight) for weight, rows in self._vectors.items()),
        ]


@contextmanager
def recorded(network: nn.Module, rows: int) -> Iterator[Recording]:
    """While open, a forward pass over so many rows is noted."""
    recording = Recording(rows)

    def note(layer: nn.Module, inputs: Any, named: dict[str, Any], output: Tensor) -> Tensor:
        if not recording.noting:
            return output
        given = _only((*inputs, *named.values()))
        if not output.requires_grad:
            raise UnknownLayerError("A layer is called without gradients.")
        if isinstance(layer, nn.Embedding) and len(given) == 1 < rows:
            # Positions, looked up once for all rows: each row is to have its own errors.
            given, output = (
                given.expand(rows, *given.shape[1:]),
                output.expand(rows, *output.shape[1:]),
            )
        if len(given) != rows or given.dim() < 1 + (not isinstance(layer, nn.Embedding)):
            raise UnknownLayerError("A layer does not keep the rows of a batch apart.")
        if is_rms_norm(layer):
            check_scaling(layer, given, output)
        recording.calls.append(
            Call(layer, given.detach(), given._version, get_gradient_edge(output))
        )
        return output

    handles = [
        layer.register_forward_hook(note, with_kwargs=True) for layer in trained_layers(network)
    ]
    try:
        yield recording
    finally:
        for handle in handles:
            handle.remove()


def _only(given: tuple[Any, ...]) -> Tensor:
    """A layer's one input, whether it was given by place or by name."""
    if len(given) != 1 or not isinstance(given[0], Tensor):
        raise UnknownLayerError("A layer takes more than one tensor.")
    return given[0]


def trained_layers(network: nn.Module) -> list[nn.Module]:
    """The layers that have trained weights of their own; all are of kinds that are known."""
    found = [
        layer
        for layer in network.modules()
        if any(weight.requires_grad for weight in layer.parameters(recurse=False))
    ]
    for layer in found:
        if not known(layer):
            raise UnknownLayerError(f"{type(layer).__name__} is not a layer that is known here.")
    return found


def known(layer: nn.Module) -> bool:
    """Whether a layer's gradients can be told from inputs and errors. Subclasses may compute
    something else, so they do not count.
    """
    if type(layer) is nn.Embedding:
        return layer.max_norm is None and not layer.scale_grad_by_freq and not layer.sparse
    if type(layer) is nn.LayerNorm:
        return len(layer.normalized_shape) == 1
    return type(layer) is nn.Linear or is_convolution(layer) or is_rms_norm(layer)


def is_convolution(layer: nn.Module) -> bool:
    """GPT-2's linear layer, by name, since transformers may not be installed."""
    kind = type(layer)
    return kind.__name__ == "Conv1D" and kind.__module__ == "transformers.pytorch_utils"


def is_rms_norm(layer: Any) -> bool:
    """Any of the many copies of RMSNorm; `check_scaling` makes sure."""
    names = [name for name, _ in layer.named_parameters(recurse=False)]
    return (
        type(layer).__name__.endswith("RMSNorm") and names == ["weight"] and layer.weight.dim() == 1
    )


def normalized(layer: Any, given: Tensor) -> Tensor:
    """What a layer's weight multiplies."""
    if isinstance(layer, nn.LayerNorm):
        return layer_norm(given, layer.normalized_shape, eps=layer.eps)
    if isinstance(layer, nn.RMSNorm):
        return rms_norm(given, layer.normalized_shape, eps=layer.eps)
    epsilon: Any = getattr(layer, "variance_epsilon", getattr(layer, "eps", None))
    if not isinstance(epsilon, float):
        raise UnknownLayerError(f"{type(layer).__name__} does not say its epsilon.")
    wide = given.float()  # as transformers does, whatever the weights' type
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return wide.to(given.dtype)


@torch.no_grad()
def check_scaling(layer: Any, given: Tensor, output: Tensor) -> None:
    """That a layer called RMSNorm multiplies by its weight, or by one more (Gemma)."""
    even, weight = normalized(layer, given), layer.weight
    close = 1e-2 if output.dtype in (torch.bfloat16, torch.float16) else 1e-4
    if not any(
        torch.allclose(even * scale, output, close, close) for scale in (weight, 1 + weight)
    ):
        raise UnknownLayerError(f"{type(layer).__name__} is not a plain RMSNorm.")
