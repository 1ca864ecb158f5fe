"""The answers of one call of `score`, filled in batch by batch and settled afterwards."""

from typing import Protocol

import numpy as np

from leakscope.engine.spilled_array import filled
from leakscope.models.ranking.top_k import Ranked
from leakscope.models.ranking.windows import Window
from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray, Scores


class Labels(Protocol):
    """[w] the entries that stand in the documents: an array, or what acts as one."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: LongArray | slice, /) -> LongArray:
        """Those at some places."""
        ...


class ScoreSheet:
    """Answers for positions of some documents: document i has offsets[i] to offsets[i + 1]. Those
    of a huge document are in files.
    """

    def __init__(self, offsets: LongArray, labels: Labels, k: int) -> None:
        self.offsets = offsets
        self.labels = labels
        self.k = k
        words = len(labels)
        self.near_tie: BoolArray = filled(np.bool_, words, value=False)
        self._rank: IntArray = filled(np.int32, words, k)
        self._log_prob: FloatArray = filled(np.float32, words, np.nan)
        self._top: FloatArray = filled(np.float32, words, np.nan)

    def fill(self, places: LongArray, ranked: Ranked, never: BoolArray) -> None:
        """Take answers; positions marked `never` cannot be correct whatever their rank."""
        self._rank[places] = np.where(never, self.k, ranked.rank.cpu().numpy())
        self._log_prob[places] = ranked.log_prob.cpu().numpy()
        self._top[places] = ranked.top_log_prob.cpu().numpy()
        self.near_tie[places] = ranked.near_tie.cpu().numpy() & ~never

    def settle(self, places: LongArray, ranked: Ranked) -> None:
        """Take exact answers; the flag stays, since the deployed model may decide otherwise."""
        self._rank[places] = ranked.rank.cpu().numpy()
        self._log_prob[places] = ranked.log_prob.cpu().numpy()
        self._top[places] = ranked.top_log_prob.cpu().numpy()

    def up_to_last_tie(self, window: Window) -> Window | None:
        """The window up to its last near tie; None if it has none."""
        begin = int(self.offsets[window.document]) + window.start
        found = np.flatnonzero(self.near_tie[begin : begin + window.stop - window.start])
        return window._replace(stop=window.start + int(found[-1]) + 1) if len(found) else None

    def unsettled(self) -> list[int]:
        """The documents with near ties."""
        where = np.flatnonzero(self.near_tie)
        found = np.searchsorted(self.offsets, where, side="right") - 1
        return np.unique(found).tolist()  # type: ignore[no-any-return]

    def wrong(self) -> BoolArray:
        """The positions that are not correct, whatever float noise does."""
        return (self._rank >= self.k) & ~self.near_tie

    def scores(self) -> Scores:
        """The finished answers."""
        return Scores(self._rank, self._log_prob, self._top, self.near_tie)
