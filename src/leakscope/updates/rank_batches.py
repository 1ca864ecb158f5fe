"""Exact ranks of given sequences of entries, some at a time, each of which can be kept."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import pyarrow as pa

from leakscope.models.interface import Prefix
from leakscope.records.artifacts import digest_of
from leakscope.updates.differential_rank import exact_rank
from leakscope.updates.entry_scores import score_entries
from leakscope.updates.model_pair import ModelPair
from leakscope.updates.score_rule import ScoreRule

AT_ONCE = 4
"""Sequences whose ranks are made together: what a killed diff loses at most."""


@dataclass(frozen=True)
class RankBatches:
    """The `Chunks` of ranking."""

    pair: ModelPair
    entries: Sequence[list[int] | None]
    """Of each sequence; None: the newer model does not know it."""
    rule: ScoreRule
    prefix: Prefix
    most_rows: int
    """See `exact_rank`; 0: no rank is told exactly."""
    name: str = "rank"
    schema: ClassVar[pa.Schema] = pa.schema([("score", pa.float64()), ("rank", pa.int64())])

    @property
    def sizes(self) -> list[int]:
        """Sequences of each batch."""
        return [len(batch) for batch in self._batches()]

    def digests(self) -> list[str]:
        """See `Chunks`."""
        terms = [asdict(self.rule), list(self.prefix), self.most_rows]
        return [digest_of([*terms, batch]) for batch in self._batches()]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        batches = self._batches()
        return lambda index: pa.RecordBatch.from_pylist(
            [self._ranked(each) for each in batches[index]], self.schema
        )

    def _batches(self) -> list[list[list[int] | None]]:
        found = list(self.entries)
        return [found[start : start + AT_ONCE] for start in range(0, len(found), AT_ONCE)]

    def _ranked(self, entries: list[int] | None) -> dict[str, float | int | None]:
        """The score, and the rank where it can be told."""
        if entries is None:
            return {"score": None, "rank": None}
        score = float(score_entries(self.pair, [entries], self.rule, self.prefix).scores[0])
        if not self.most_rows:
            return {"score": score, "rank": None}
        rank = exact_rank(self.pair, len(entries), score, self.rule, self.prefix, self.most_rows)
        return {"score": score, "rank": None if rank is None else rank.value}
