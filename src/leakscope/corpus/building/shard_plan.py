"""Where shards and their row groups end, and how large the corpus is: one look at every part."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.corpus.building.shard_kernels import SHARD, cut_documents
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.parts.part_files import opened_part
from leakscope.corpus.parts.row_columns import SPLITS
from leakscope.records.documents import LongArray


@dataclass(frozen=True)
class DocumentRange:
    """Documents `start` to `stop` of a part."""

    part: int
    start: int
    stop: int


@dataclass
class CorpusSizes:
    """How much there is, and of what."""

    users: int = 0
    documents: int = 0
    split_users: list[int] = field(default_factory=lambda: [0] * len(SPLITS))
    split_documents: list[int] = field(default_factory=lambda: [0] * len(SPLITS))
    split_words: list[int] = field(default_factory=lambda: [0] * len(SPLITS))
    most_words: int = 0
    """Of one user."""
    per_user: Counter[int] = field(default_factory=Counter)
    """How many users have so many documents."""

    def quantiles(self) -> dict[str, float]:
        """Documents per user: quantiles over the users, and the mean."""
        values = np.array(sorted(self.per_user), np.float64)
        weights = np.array([self.per_user[int(value)] for value in values])
        reached = np.cumsum(weights) / weights.sum()
        marks = {"min": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}
        found = {name: float(values[np.searchsorted(reached, q)]) for name, q in marks.items()}
        mean = float(np.average(values, weights=weights))
        return found | {"max": float(values[-1]), "mean": mean}


@dataclass
class ShardPlan:
    """What the shards are made of."""

    first_user: list[int] = field(default_factory=list)
    """The number of each part's first user."""
    first_document: list[int] = field(default_factory=list)
    """And of its first document."""
    shards: list[list[list[DocumentRange]]] = field(default_factory=list)
    """Shards, their row groups, and the ranges that these are made of."""
    sizes: CorpusSizes = field(default_factory=CorpusSizes)


def plan_shards(parts: list[Path], pieces: list[UserPiece], shard_words: int) -> ShardPlan:
    """A shard ends with the first user that brings it to `shard_words` words."""
    plan, open_user = ShardPlan(), _Users.none()
    state = np.zeros(3, np.int64)  # words of the shard; documents and characters of the row group
    group: list[DocumentRange] = []
    shard: list[list[DocumentRange]] = []
    for part, (path, piece) in enumerate(zip(parts, pieces, strict=True)):
        goes_on = part + 1 < len(pieces) and pieces[part + 1].continues
        with opened_part(path) as ((batch, _),):
            words = np.diff(batch["words"].offsets.to_numpy())
            owners, split = batch["user"].to_numpy().copy(), batch["split"].to_numpy().copy()
            ends = np.zeros(len(owners), np.int8)
            cut_documents(
                words, batch["characters"].to_numpy(), owners, goes_on, shard_words, state, ends
            )
            del batch
        plan.first_user.append(plan.sizes.users + len(open_user) - piece.continues)
        plan.first_document.append(plan.sizes.documents)
        open_user = _counted(plan.sizes, open_user, _Users.of(owners, split, words), piece)
        start = 0
        for stop in (np.flatnonzero(ends) + 1).tolist():
            group.append(DocumentRange(part, start, stop))
            shard.append(group)
            start, group = stop, []
            if ends[stop - 1] == SHARD:
                plan.shards.append(shard)
                shard = []
        if start < len(ends):
            group.append(DocumentRange(part, start, len(ends)))
    shard += [group] if group else []
    plan.shards += [shard] if shard else []
    _close(plan.sizes, open_user)
    return plan


@dataclass(frozen=True)
class _Users:
    """Documents and words of n users in each split."""

    documents: LongArray
    """[splits, n]"""
    words: LongArray
    """[splits, n]"""

    def __len__(self) -> int:
        return int(self.words.shape[1])

    @staticmethod
    def none() -> "_Users":
        return _Users(*(np.zeros((len(SPLITS), 0), np.int64) for _ in range(2)))

    @staticmethod
    def of(owners: Any, split: Any, words: LongArray) -> "_Users":
        count = int(owners[-1]) + 1
        place = split.astype(np.int64) * count + owners
        size = len(SPLITS) * count
        documents = np.bincount(place, minlength=size)
        said = np.bincount(place, words, size).astype(np.int64)
        return _Users(documents.reshape(len(SPLITS), count), said.reshape(len(SPLITS), count))


def _counted(sizes: CorpusSizes, before: _Users, new: _Users, piece: UserPiece) -> _Users:
    """Count all users but the last one, who may go on; `before` is the one of the part before."""
    sizes.documents += int(new.documents.sum())
    if piece.continues:
        new.documents[:, 0] += before.documents[:, 0]
        new.words[:, 0] += before.words[:, 0]
    else:
        _close(sizes, before)
    _close(sizes, _Users(new.documents[:, :-1], new.words[:, :-1]))
    return _Users(new.documents[:, -1:], new.words[:, -1:])


def _close(sizes: CorpusSizes, users: _Users) -> None:
    """Count users who are complete."""
    if not len(users):
        return
    sizes.users += len(users)
    for split in range(len(SPLITS)):
        sizes.split_users[split] += int((users.documents[split] > 0).sum())
        sizes.split_documents[split] += int(users.documents[split].sum())
        sizes.split_words[split] += int(users.words[split].sum())
    sizes.most_words = max(sizes.most_words, int(users.words.sum(axis=0).max()))
    many, times = np.unique(users.documents.sum(axis=0), return_counts=True)
    sizes.per_user.update(dict(zip(many.tolist(), times.tolist(), strict=True)))
