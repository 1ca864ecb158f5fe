"""The texts of a private loop of one's own, by user: token ids, or examples of any kind."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from leakscope.records.documents import IntArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of, places_of
from leakscope.training.dp.clipping.module_clipper import TokenRows
from leakscope.training.dp.privacy_units import Units
from leakscope.training.dp.protected_unit import Unit
from leakscope.training.dp.sampling import Draw

Collate = Callable[[list[Any]], Any]
"""From examples to a batch of as many rows: a tensor, or a tuple or mapping of tensors [n, ...].
A row must not depend on other examples, but for its padding.
"""


class UserTexts(Protocol):
    """The text of all units, ready to be drawn from."""

    units: Units
    digest: str
    """Of all that is trained on."""

    def batch(self, draw: Draw) -> Any:
        """The rows of a step, in the order of `draw.pieces`."""
        ...


class TokenTexts:
    """Texts as token ids. A text of n tokens has n - 1 predictions: its first token is given."""

    def __init__(self, data: Sequence[Any], unit: Unit, device: torch.device) -> None:
        found, owners = [], []
        for owner, document in _documents(data, unit):
            ids = _ids(document)
            if len(ids) > 1:  # a text of one token has nothing to predict
                found.append(ids)
                owners.append(owner)
        _check_text(owners, data, unit)
        lengths = np.array([len(ids) for ids in found], np.int64)
        self._offsets = offsets_of(lengths)
        # A copy: what the ledger was told is trained on cannot change behind its back.
        self._ids, self._device = np.concatenate(found), device
        self.units, self.digest = _units(owners, lengths - 1, (ids.tobytes() for ids in found))

    def batch(self, draw: Draw) -> TokenRows:
        """See `UserTexts`; texts are cut where the user's words for the step end."""
        lengths = draw.sizes + 1
        here = np.arange(lengths.max()) < lengths[:, None]
        ids = np.zeros(here.shape, np.int64)
        ids[here] = self._ids[places_of(self._offsets[draw.pieces], lengths)]
        return TokenRows(
            torch.from_numpy(ids).to(self._device), torch.from_numpy(here).to(self._device)
        )


class ExampleTexts:
    """Examples that the caller's `collate` makes rows of; each counts as one word, uncut."""

    def __init__(self, data: Sequence[Any], unit: Unit, collate: Collate) -> None:
        self._collate = collate
        owners, self._examples = [], []
        for owner, example in _documents(data, unit):
            owners.append(owner)
            self._examples.append(example)
        _check_text(owners, data, unit)
        contents = (_content(self._rows([example])) for example in self._examples)
        self.units, self.digest = _units(owners, np.ones(len(owners), np.int64), contents)

    def batch(self, draw: Draw) -> Any:
        """See `UserTexts`."""
        return self._rows([self._examples[piece] for piece in draw.pieces.tolist()])

    def _rows(self, examples: list[Any]) -> Any:
        batch = self._collate(examples)
        found = [len(tensor) if tensor.dim() else 0 for tensor in tensors_of(batch)]
        if not found or any(rows != len(examples) for rows in found):
            raise LeakscopeError("collate must make tensors of one row for each example.")
        return batch


def tensors_of(batch: Any) -> Iterator[Tensor]:
    """All tensors of a batch."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for name in sorted(batch):
            yield from tensors_of(batch[name])
    elif isinstance(batch, tuple | list):
        for each in batch:
            yield from tensors_of(each)
    else:
        raise LeakscopeError("collate must make a tensor, or a tuple or mapping of tensors.")


def check_data(data: Any) -> None:
    """Refuse what is no sequence of users, above all what brings batches of its own."""
    if isinstance(data, DataLoader | Sampler) or hasattr(data, "batch_sampler"):
        raise LeakscopeError(
            "Give the users' texts themselves, without a DataLoader or sampler: users are drawn "
            "here, since shuffled or fixed batches would make epsilon wrong."
        )
    sized = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    if not sized or isinstance(data, Mapping | str | bytes):
        raise LeakscopeError(
            "Give a list with one entry for each user: users are drawn from it here, since batches "
            "that come by themselves would make epsilon wrong."
        )
    if not len(data):
        raise LeakscopeError("The data has no users.")


def _documents(data: Sequence[Any], unit: Unit) -> Iterator[tuple[int, Any]]:
    """Every document with the number of its unit: the user's, or its own."""
    number = 0
    for user in range(len(data)):
        entry = data[user]
        if isinstance(entry, Mapping | str | bytes) or not hasattr(entry, "__len__"):
            raise _shape()
        for document in entry:
            yield (user if unit == "user" else number), document
            number += 1


def _ids(document: Any) -> IntArray:
    """[n] a document's tokens."""
    try:
        raw = document.detach().cpu().numpy() if isinstance(document, Tensor) else document
        ids: npt.NDArray[Any] = np.asarray(raw)
    except (TypeError, ValueError):
        raise _shape() from None
    if ids.ndim == 1 and not len(ids):
        return np.zeros(0, np.int32)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise _shape()
    if ids.min() < 0 or ids.max() >= 2**31:
        raise LeakscopeError("Token ids must be at least 0 and below 2^31.")
    return ids.astype(np.int32)


def _shape() -> LeakscopeError:
    return LeakscopeError(
        "Every entry of the data must be the list of one user's documents, each of them a list of "
        "token ids, or an example for your own collate."
    )


def _check_text(owners: list[int], data: Sequence[Any], unit: Unit) -> None:
    """Refuse units without text: they would be counted and could never show."""
    count = len(data) if unit == "user" else sum(len(data[user]) for user in range(len(data)))
    empty = np.flatnonzero(np.bincount(np.array(owners, np.int64), minlength=count) == 0)
    if len(empty):
        raise LeakscopeError(
            f"{len(empty)} of {count} {unit}s (the first is number {empty[0]}, from 0) have no "
            f"text to learn from; leave them out."
        )


def _units(owners: list[int], sizes: LongArray, contents: Iterator[bytes]) -> tuple[Units, str]:
    """The units of pieces in the order of their owners, each of whom has one, and a digest."""
    counts = np.bincount(np.array(owners, np.int64))
    offsets = offsets_of(counts)
    keys, whole = np.empty(len(counts), np.uint64), hashlib.blake2b(digest_size=16)
    for unit, count in enumerate(counts.tolist()):
        one = hashlib.blake2b(digest_size=16)
        for _ in range(count):
            content = next(contents)
            one.update(len(content).to_bytes(8, "little") + content)
        keys[unit] = int.from_bytes(one.digest()[:8], "little")
        whole.update(one.digest())
    return Units(offsets, sizes, keys), whole.hexdigest()


def _content(batch: Any) -> bytes:
    parts = []
    for tensor in tensors_of(batch):
        plain = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        parts.append(f"{tensor.dtype}{tuple(tensor.shape)}".encode() + plain.numpy().tobytes())
    return b"".join(parts)
