"""The workers of one map on Ray: tasks, or actors where a model is loaded."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from leakscope.engine.cluster import ray_client
from leakscope.engine.shard_output import ShardOutput
from leakscope.engine.shard_queue import ShardQueue
from leakscope.engine.shard_worker import Failure, ShardOrder, make_output
from leakscope.engine.stages import Stage
from leakscope.records.errors import LeakscopeError

PATIENCE = 60.0
"""Seconds to wait for a node, where there is none that is large enough."""
_MOMENT = 1.0
"""Seconds after which to look again for nodes that came."""
_EACH = 2
"""Shards in flight for each worker: it works on one while the other waits, or comes back."""

Orders = Callable[[int], ShardOrder]
Finished = Iterator[tuple[int, ShardOutput | Failure | None]]
"""Shards, and what came of them; None: the worker died."""


class Workers(Protocol):
    """Work on a queue of shards. They never have more outputs than a few for each of them, so that
    outputs do not pile up where they are waited for.
    """

    def begin(self, queue: ShardQueue, order: Orders) -> None:
        """Hand out as many shards as there is room for."""
        ...

    def finished(self, queue: ShardQueue) -> Finished:
        """Those that are finished; after a moment, though there may be none. What only waited for
        a worker that died goes back into the queue.
        """
        ...

    def stop(self) -> None:
        """End the processes of the map. Where it is broken off, whatever else runs ends when the
        cluster is left.
        """
        ...


class _Room:
    """How many workers fit on the cluster, whose nodes come and go."""

    def __init__(self, request: Mapping[str, float]) -> None:
        self._request = request
        self._seen = time.monotonic()
        self._fits, self._looked = 0, -_MOMENT

    def slots(self) -> int:
        """So many, a moment ago. Raise if there is no room at all for a while."""
        now = time.monotonic()
        if now - self._looked < _MOMENT and self._fits:
            return self._fits
        self._looked = now
        self._fits = sum(
            int(min(has.get(name, 0.0) // need for name, need in self._request.items()))
            for has in ray_client.nodes().values()
        )
        if self._fits:
            self._seen = now
        elif now - self._seen > PATIENCE:
            wanted = " and ".join(f"{need:g} {name}" for name, need in self._request.items())
            raise LeakscopeError(
                f"No node of the cluster has {wanted} for a worker; give fewer --cores, or add a "
                f"larger node."
            )
        return self._fits


class TaskWorkers:
    """Every shard is a task of its own, on whatever process is free."""

    def __init__(self, stage: Stage, request: Mapping[str, float]) -> None:
        self._room = _Room(request)
        self._stage = ray_client.share(stage)
        self._task = ray_client.remote(_make, request, max_retries=0)
        self._at_work: dict[Any, int] = {}

    def begin(self, queue: ShardQueue, order: Orders) -> None:
        """See `Workers`."""
        room = _EACH * self._room.slots() - len(self._at_work)
        while room > 0 and (index := queue.take()) is not None:
            self._at_work[self._task.remote(self._stage, order(index))] = index
            room -= 1

    def finished(self, queue: ShardQueue) -> Finished:
        """See `Workers`."""
        for reference in _ready(list(self._at_work)):
            yield self._at_work.pop(reference), ray_client.outcome(reference)

    def stop(self) -> None:
        """See `Workers`. Tasks have no process of their own."""


class ActorWorkers:
    """Processes that live as long as the map, so that each loads its model once."""

    def __init__(self, stage: Stage, request: Mapping[str, float]) -> None:
        self._room = _Room(request)
        self._stage = ray_client.share(stage)
        self._actor = ray_client.remote(_Actor, request, max_restarts=0)
        self._coming: dict[Any, Any] = {}  # actors, by the answer that they will give
        self._there: dict[Any, dict[Any, int]] = {}  # the shards of each, in the order of its work

    def begin(self, queue: ShardQueue, order: Orders) -> None:
        """See `Workers`. There are as many actors as have room and work."""
        wanted = min(self._room.slots(), queue.open)
        for _ in range(wanted - len(self._coming) - len(self._there)):
            actor = self._actor.remote()
            self._coming[actor.is_there.remote()] = actor
        for many in range(1, _EACH + 1):  # nobody has two while somebody has none
            for actor, work in self._there.items():
                if len(work) < many and (index := queue.take()) is not None:
                    work[actor.make.remote(self._stage, order(index))] = index

    def finished(self, queue: ShardQueue) -> Finished:
        """See `Workers`."""
        actors = {reference: actor for actor, work in self._there.items() for reference in work}
        known = [*actors, *self._coming]
        ready = set(_ready(known))
        # In the order of each actor's work: what it had done is not blamed for its death.
        for reference in [each for each in known if each in ready]:
            if reference in actors and actors[reference] not in self._there:
                continue  # it died a moment ago, and its work went back
            came = ray_client.outcome(reference)
            if reference in self._coming:
                actor = self._coming.pop(reference)
                if came is not None:
                    self._there[actor] = {}
                continue
            actor = actors[reference]
            if came is not None:
                yield self._there[actor].pop(reference), came
                continue
            begun, *waiting = self._there.pop(actor).values()
            ray_client.end_actor(actor)  # it may live on where nobody hears it
            for index in waiting:
                queue.put_back(index)
            yield begun, None

    def stop(self) -> None:
        """See `Workers`."""
        for actor in (*self._coming.values(), *self._there):
            ray_client.end_actor(actor)


class _Actor:
    """On a worker: a process of one map."""

    def is_there(self) -> bool:
        """It is."""
        return True

    def make(self, stage: list[Any], order: ShardOrder) -> ShardOutput | Failure:
        """The output for a shard."""
        return _make(stage, order)


def _make(stage: list[Any], order: ShardOrder) -> ShardOutput | Failure:
    """On a worker: the output for a shard. The stage is fetched once a process."""
    return make_output(order, lambda: ray_client.shared(stage))


def _ready(references: list[Any]) -> list[Any]:
    if references:
        return ray_client.ready(references, _MOMENT)
    time.sleep(_MOMENT)  # until there is a node
    return []
