"""Which shards wait for a worker, and how often each was tried."""

from collections import Counter, deque
from collections.abc import Iterable

from leakscope.records.errors import LeakscopeError

TRIES = 5
"""How many workers may die of one shard."""


class ShardQueue:
    """Shards of a stage that are still to be done, on workers that may die."""

    def __init__(self, stage: str, due: Iterable[int]) -> None:
        self._stage = stage
        self._waiting = deque(due)
        self._open = set(self._waiting)
        self._lost: Counter[int] = Counter()

    @property
    def open(self) -> int:
        """How many shards are not done, those at work included."""
        return len(self._open)

    def take(self) -> int | None:
        """The next shard to work on; None: all are at work or done."""
        return self._waiting.popleft() if self._waiting else None

    def done(self, index: int) -> None:
        """The shard's output is there."""
        self._open.remove(index)

    def put_back(self, index: int) -> None:
        """Nobody began with the shard: it waits again, before the others."""
        self._waiting.appendleft(index)

    def lost(self, index: int) -> None:
        """The shard's worker died, or its output came damaged: it waits again, before the others.
        Raise if that was so too often.
        """
        self._lost[index] += 1
        if self._lost[index] >= TRIES:
            raise LeakscopeError(
                f"Workers died {TRIES} times at the same shard in stage {self._stage} (out of "
                f"memory?); what is done is kept: give workers more memory, then run the same "
                f"command again."
            )
        self.put_back(index)
