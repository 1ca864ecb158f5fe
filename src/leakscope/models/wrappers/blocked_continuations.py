"""Prefixes that go on behind a block list."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscope.models.interface import Continuations, LogProbs
from leakscope.models.ranking.logit_slices import slices
from leakscope.records.block_lists.block_list import BlockList, HashArray
from leakscope.records.documents import BoolArray, LongArray


@dataclass(frozen=True)
class BlockedContinuations:
    """`Continuations` of a word-level model, minus infinity where an entry is blocked."""

    plain: Continuations
    block_list: BlockList
    hashes: HashArray
    """[v] the hash of each entry, 0 for marks, which are never blocked."""
    said: HashArray
    """[n, longest - 1] the hashes of each prefix's last words, the nearest first, then 0."""

    @property
    def entries(self) -> Sequence[str]:
        """See `Continuations`."""
        return self.plain.entries

    @property
    def words(self) -> int:
        """See `Continuations`."""
        return self.plain.words

    def __len__(self) -> int:
        return len(self.plain)

    def silent(self) -> BoolArray:
        """See `Continuations`."""
        return self.plain.silent()

    def log_probs(self, rows: LongArray | None = None) -> LogProbs:
        """See `Continuations`."""
        found = self.plain.log_probs(rows)
        said = self.said if rows is None else self.said[rows]
        for part in slices(len(found), len(self.hashes)):
            candidates = np.broadcast_to(self.hashes, found[part].shape)
            found[part][self.block_list.blocked(said[part], candidates)] = -np.inf
        return found

    def top(self, count: int) -> tuple[LongArray, LogProbs]:
        """See `Continuations`."""
        size = min(count, len(self.hashes))
        entries = np.zeros((len(self), size), np.int64)
        logs = np.zeros((len(self), size), np.float32)
        for part in slices(len(self), len(self.hashes)):
            left = self.log_probs(np.arange(len(self))[part])
            best = np.argsort(-left, axis=1, kind="stable")[:, :size]
            entries[part], logs[part] = best, np.take_along_axis(left, best, 1)
        return entries, logs

    def extended(self, rows: LongArray, entries: LongArray) -> "BlockedContinuations":
        """See `Continuations`."""
        reach = self.said.shape[1]
        spelled = [self.entries[entry] for entry in np.unique(entries).tolist()]
        hashes = self.block_list.word_hashes(spelled)[np.unique(entries, return_inverse=True)[1]]
        said = np.concatenate([hashes[:, None], self.said[rows]], 1)[:, :reach]
        return replace(self, plain=self.plain.extended(rows, entries), said=said)
