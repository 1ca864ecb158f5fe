"""What is kept of a search that has not finished: the best extensions of every length that is done,
and of the length that is being searched, the best so far. States of models are never kept, which
would be large: they are read again.
"""

from dataclasses import asdict, dataclass

from leakscope.engine.kept_chunks import KeptChunks
from leakscope.models.interface import Prefix
from leakscope.records.artifacts import digest_of
from leakscope.updates.best_extensions import FOUND, STATE, BestSoFar, Extensions
from leakscope.updates.model_pair import PairedPrefixes
from leakscope.updates.score_rule import ScoreRule
from leakscope.updates.search_plan import SearchPlan

DONE, BEGUN = "searched", "search"
"""What the files of a whole length, and of some of its chunks, are called."""


@dataclass(frozen=True)
class KeptSearch:
    """Of one search, whose `terms` are the digest of all that decides it but for the models."""

    chunks: KeptChunks
    terms: str

    @staticmethod
    def of(
        kept: KeptChunks, plan: SearchPlan, rule: ScoreRule, prefix: Prefix, root: PairedPrefixes
    ) -> "KeptSearch":
        """Of the search by this plan from this root, which is behind the prefix."""
        steps = [root.block_rows, root.chunk_rows]
        return KeptSearch(kept, digest_of([asdict(plan), asdict(rule), list(prefix), *steps]))

    def at(self, group: int, length: int) -> "KeptLength":
        """Of one length behind a group of first entries."""
        return KeptLength(self.chunks, digest_of([self.terms, group, length]))

    def rows_done(self, plan: SearchPlan, root: PairedPrefixes) -> int:
        """How many prefixes need not be extended again, about."""
        chunk, total = root.chunk_rows, 0
        for group, share in enumerate(plan.shares(min(plan.width, root.size))):
            for length in range(2, plan.length + 1):
                rows, mine = plan.width_at(length - 1, share), self.at(group, length)
                done = rows if mine.is_done() else chunk * mine.chunks_done(-(-rows // chunk))
                total += min(rows, done)
        return total


@dataclass(frozen=True)
class KeptLength:
    """Of one length."""

    chunks: KeptChunks
    terms: str

    def found(self) -> Extensions | None:
        """The result, if it is there."""
        table = self.chunks.find(DONE, self.terms, FOUND)
        return None if table is None else Extensions.of(table)

    def is_done(self) -> bool:
        """Whether the result is there."""
        return self.chunks.has(DONE, self.terms)

    def chunks_done(self, most: int) -> int:
        """How many of the first chunks need not be searched again, of so many."""
        return next((at for at in range(most - 1, 0, -1) if self._has(at)), 0)

    def begun(self, width: int, most: int) -> tuple[BestSoFar, int]:
        """(the best of some first chunks, how many chunks those are), of so many chunks."""
        for done in range(most - 1, 0, -1):
            state = self.chunks.find(BEGUN, self._key(done), STATE)
            if state is not None:
                return BestSoFar.restored(width, state), done
        return BestSoFar(width), 0

    def keep_state(self, done: int, best: BestSoFar) -> None:
        """Keep the best of so many first chunks; what was kept before the last time goes, so that
        there is one more if this one gets damaged.
        """
        if self.chunks.folder is None:
            return
        self.chunks.keep(BEGUN, self._key(done), best.state())
        self.chunks.forget(BEGUN, self._key(done - 2))

    def keep(self, found: Extensions, chunks: int) -> None:
        """Keep the result of so many chunks."""
        self.chunks.keep(DONE, self.terms, found.batch())
        for done in range(1, chunks if self.chunks.folder is not None else 1):
            self.chunks.forget(BEGUN, self._key(done))

    def _has(self, done: int) -> bool:
        return self.chunks.has(BEGUN, self._key(done))

    def _key(self, done: int) -> str:
        return digest_of([self.terms, done])
