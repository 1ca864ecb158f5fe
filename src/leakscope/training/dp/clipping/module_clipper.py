"""`ModuleClipper`: clipped sums of the gradients of any network, such as Hugging Face's, also
with adapters: weights that are not trained take no part.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.clip_factors import (
    NotFiniteError,
    check_choices,
    check_weights,
    explode,
    factors_of,
)
from leakscope.training.dp.clipping.clipper import MEMORY, Clipped, clear
from leakscope.training.dp.clipping.methods import Method
from leakscope.training.dp.clipping.norms.gradient_parts import (
    WeightPart,
    gradient_of,
    squared_norm,
    squared_norms,
)
from leakscope.training.dp.clipping.norms.row_layout import Layout
from leakscope.training.dp.clipping.recording import UnknownLayerError, recorded, trained_layers

LossOf = Callable[[nn.Module, Any], Tensor]
"""From a network and rows of a batch to the loss of each row, [n]. A row's loss must not depend
on the other rows.
"""


class TokenRows(NamedTuple):
    """n texts of a Hugging Face network, padded at the end."""

    ids: Tensor
    """[n, t]."""
    mask: Tensor
    """[n, t] True where there is text."""


def next_token_loss(network: nn.Module, rows: TokenRows) -> Tensor:
    """[n] the cross-entropy of each token after the first, summed over a row's text."""
    # Padding is behind all text, where a causal network does not look: no mask is needed.
    logits = network(input_ids=rows.ids, use_cache=False).logits[:, :-1]
    losses = cross_entropy(logits.transpose(1, 2), rows.ids[:, 1:], reduction="none")
    return (losses * rows.mask[:, 1:]).sum(1)


class ModuleClipper:
    """Writes clipped sums of a network's gradients, over the weights that require gradients."""

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        loss_of: LossOf = next_token_loss,
        *,
        method: Method = "auto",
        memory: int = MEMORY,
    ) -> None:
        """`memory`: about how many bytes the widest layer's outputs may take at a time."""
        check_choices(method, clip)
        if method == "auto":
            method = "ghost" if _records(network) else "microbatch"
            self._may_change = True
        else:
            self._may_change = False
        self._network, self._clip, self._loss_of, self._method = network, clip, loss_of, method
        self._memory, self._checked = memory, False

    @property
    def method(self) -> Method:
        """The method in use: "auto" has decided, at the latest with the first step."""
        return self._method

    def write(
        self, batch: Any, users: LongArray, count: int, shares: Tensor | None = None
    ) -> Clipped:
        """Set the trained weights' `.grad` to the sum over users of g * min(1, clip / |g|), where
        g is the gradient of shares[u] times the summed losses of user u's rows (shares: [count],
        one each if not given; one over the user's words makes the loss a mean).

        `batch` is a tensor, or a tuple or mapping of tensors, [n, ...]; row i is user users[i]'s.
        """
        if self._network.training:
            raise LeakscopeError("Call eval() of the network first: dropout has no place here.")
        weights = [weight for weight in self._network.parameters() if weight.requires_grad]
        if not weights:
            raise LeakscopeError("No weight of the network requires a gradient.")
        rows = len(_first(batch))
        if len(users) != rows or (rows and not 0 <= users.min() <= users.max() < count):
            raise LeakscopeError("Name one user below the number of users for every row.")
        share = torch.ones(count, dtype=torch.float64) if shares is None else shares.double().cpu()
        norms, losses = torch.zeros(2, count, dtype=torch.float64)
        clear(weights)
        for owners, index in self._groups(users, count, batch):
            norms[owners], losses[owners] = self._add(weights, batch, owners, index, share[owners])
        return Clipped(norms, losses, torch.from_numpy(np.bincount(users, minlength=count)))

    @torch.no_grad()
    def losses(
        self, batch: Any, users: LongArray, count: int, *, backwards: bool = False
    ) -> Tensor:
        """[count] the users' summed losses, float64, by rows that stand together as they do when
        they are clipped, in that order or from the last to the first.
        """
        found = torch.zeros(count, dtype=torch.float64)
        for _, index in self._groups(users, count, batch):
            rows = np.concatenate(index)[:: -1 if backwards else 1].copy()
            for part in np.split(rows, range(self._limit(batch), len(rows), self._limit(batch))):
                losses = self._loss_of(self._network, _rows(batch, part))
                found.index_add_(0, torch.from_numpy(users[part]), losses.double().cpu())
        return found

    def _groups(
        self, users: LongArray, count: int, batch: Any
    ) -> Iterator[tuple[LongArray, list[LongArray]]]:
        """Users, those with fewer rows first, and the rows of each."""
        rows = np.bincount(users, minlength=count)
        order = np.argsort(rows, kind="stable")
        by_user = np.split(np.argsort(users, kind="stable"), np.cumsum(rows)[:-1])
        limit, first, used = self._limit(batch), 0, 0
        order = order[rows[order] > 0]
        for at, user in enumerate(order.tolist()):
            if at > first and used + rows[user] > limit:
                yield order[first:at], [by_user[u] for u in order[first:at]]
                first, used = at, 0
            used += int(rows[user])
        if first < len(order):
            yield order[first:], [by_user[u] for u in order[first:]]

    def _limit(self, batch: Any) -> int:
        """Rows at a time."""
        first = _first(batch)
        length = first.shape[1] if first.dim() > 1 else 1
        widths = [
            layer.out_features for layer in self._network.modules() if isinstance(layer, nn.Linear)
        ]
        return max(1, self._memory // (4 * length * max([1024, *widths])))

    def _add(
        self,
        weights: list[nn.Parameter],
        batch: Any,
        owners: LongArray,
        index: list[LongArray],
        shares: Tensor,
    ) -> tuple[Tensor, Tensor]:
        fits = sum(map(len, index)) <= self._limit(batch)
        if self._method == "ghost" and fits:
            try:
                found = self._add_ghost(batch, index, shares)
                self._add_alone(found, weights, batch, index, shares)
                return found
            except UnknownLayerError as unknown:
                if not self._may_change:
                    raise LeakscopeError(f'{unknown} Use the method "microbatch".') from None
                self._method = "microbatch"
            except NotFiniteError:
                check_weights(weights)  # one user is to blame: each by itself, then
        return self._add_microbatch(weights, batch, index, shares)

    def _add_alone(
        self,
        found: tuple[Tensor, Tensor],
        weights: list[nn.Parameter],
        batch: Any,
        index: list[LongArray],
        shares: Tensor,
    ) -> None:
        """Add those who `explode`, whom several users' ghost norms have left out, one by one."""
        norms, losses = found
        for user in torch.nonzero(explode(norms)).flatten().tolist() if len(index) > 1 else ():
            one, rows = slice(user, user + 1), [np.arange(len(index[user]))]
            own = _without_padding(_rows(batch, index[user]))
            norms[one], losses[one] = self._add_microbatch(weights, own, rows, shares[one])

    def _add_ghost(
        self, batch: Any, index: list[LongArray], shares: Tensor
    ) -> tuple[Tensor, Tensor]:
        rows = np.array([len(each) for each in index])
        layouts: dict[int, Layout] = {}
        device = next(self._network.parameters()).device

        def layout(length: int) -> Layout:
            return layouts.setdefault(length, Layout(rows * length, device))

        with torch.enable_grad(), recorded(self._network, int(rows.sum())) as recording:
            losses = self._loss_of(self._network, _rows(batch, np.concatenate(index)))
            parts = recording.parts(losses.sum(), layout)
        with torch.no_grad():
            by_part = squared_norms(parts).cpu()
            norms, factors = factors_of(by_part.sum(0), shares, self._clip)
            if len(index) > 1:
                factors = torch.where(explode(norms), 0.0, factors)
            if not self._checked:
                self._check(batch, index[0], parts, by_part[:, 0])
            for part in parts:
                part.add(factors.to(losses.device))
        summed = torch.zeros(len(index), dtype=torch.float64)
        return norms, summed.index_add_(0, layout(1).owners.cpu(), losses.detach().double().cpu())

    def _check(
        self, batch: Any, index: LongArray, parts: list[WeightPart], squared: Tensor
    ) -> None:
        """That what the hooks saw is all there is, by autograd's gradient of one user's rows."""
        weights = [weight for weight in self._network.parameters() if weight.requires_grad]
        gradients, _ = self._gradient(weights, batch, index)
        plain = {
            id(weight): math.sqrt(squared_norm([gradient]))
            for weight, gradient in zip(weights, gradients, strict=True)
        }
        least = 1e-3 * math.hypot(*plain.values())
        close = 0.05 if weights[0].dtype in (torch.bfloat16, torch.float16) else 1e-3
        for part, found in zip(parts, squared.sqrt().tolist(), strict=True):
            norm = plain.pop(id(part.weight))
            if abs(found - norm) > close * max(norm, least):
                raise UnknownLayerError("A layer computes something that is not known here.")
        if any(plain.values()):
            raise UnknownLayerError("A weight is used outside of its layer.")
        self._checked = True

    def _add_microbatch(
        self, weights: list[nn.Parameter], batch: Any, index: list[LongArray], shares: Tensor
    ) -> tuple[Tensor, Tensor]:
        norms, losses = torch.zeros(2, len(index), dtype=torch.float64)
        sums = [gradient_of(weight) for weight in weights]
        for user, rows in enumerate(index):
            gradients, losses[user] = self._gradient(weights, batch, rows)
            one = slice(user, user + 1)
            try:
                norms[one], factor = factors_of(squared_norm(gradients), shares[one], self._clip)
            except NotFiniteError:
                check_weights(weights)
                norms[one] = torch.inf
                continue
            with torch.no_grad():
                torch._foreach_add_(sums, gradients, alpha=float(factor))
        return norms, losses

    def _gradient(
        self, weights: list[nn.Parameter], batch: Any, index: LongArray
    ) -> tuple[list[Tensor], float]:
        """The gradient of the summed loss of some rows, a part of them at a time, and that loss."""
        total, summed = [torch.zeros_like(weight) for weight in weights], 0.0
        for part in np.split(index, range(self._limit(batch), len(index), self._limit(batch))):
            with torch.enable_grad():
                loss = self._loss_of(self._network, _rows(batch, part)).sum()
            found = torch.autograd.grad(loss, weights, allow_unused=True)
            summed += float(loss.detach())
            for place, gradient in zip(total, found, strict=True):
                if gradient is not None:
                    place.add_(gradient)
        return total, summed


def _without_padding(rows: Any) -> Any:
    """Rows of tokens as they would be without the other users' longer ones."""
    if not isinstance(rows, TokenRows):
        return rows
    length = int(rows.mask.any(0).nonzero().max()) + 1
    return TokenRows(rows.ids[:, :length], rows.mask[:, :length])


def _records(network: nn.Module) -> bool:
    try:
        trained_layers(network)
    except UnknownLayerError:
        return False
    return True


def _first(batch: Any) -> Tensor:
    if isinstance(batch, Tensor):
        return batch
    return _first(next(iter(batch.values() if isinstance(batch, Mapping) else batch)))


def _rows(batch: Any, index: LongArray) -> Any:
    if isinstance(batch, Tensor):
        return batch[torch.from_numpy(index).to(batch.device)]
    if isinstance(batch, Mapping):
        return {name: _rows(each, index) for name, each in batch.items()}
    parts = [_rows(each, index) for each in batch]
    return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
