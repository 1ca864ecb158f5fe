"""The engine of a cluster: stages on Ray, with the local engine's results."""

import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leakscope.engine.cluster import ray_client
from leakscope.engine.cluster.held_signals import held_signals, unwinding_sigterm
from leakscope.engine.cluster.ray_workers import PATIENCE, ActorWorkers, TaskWorkers, Workers
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.private_scratch import private_scratch
from leakscope.engine.progress import Progress, silent
from leakscope.engine.shard_output import ShardOutput
from leakscope.engine.shard_queue import ShardQueue
from leakscope.engine.shard_worker import Failure, NodeNeeds, ShardOrder
from leakscope.engine.stages import DueShards, Stage, loads_model, reads_outputs
from leakscope.records.artifacts import private_directory
from leakscope.records.errors import LeakscopeError


class RayEngine:
    """Runs stages on a Ray cluster: one that exists, at an address, or one that is started here
    with so many workers. It is reached when the first shard is due, and left by `close`; meanwhile
    Ctrl-C and SIGTERM wait.

    A worker that loads a model has so many `cores`, and a GPU if the cluster has any and `gpus`
    allows it; others have one core. `needs`: paths that must be readable on every node. `shares`:
    folders in which this process will put models that every node must see; this is checked when
    the engine is entered.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int = 1,
        cores: int = 1,
        gpus: bool = True,
        needs: Sequence[Path] = (),
        shares: Sequence[Path] = (),
    ) -> None:
        if find_spec("ray") is None:
            raise LeakscopeError("Ray is not installed; get it by pip install 'leakscope[ray]'.")
        if address is not None and not re.fullmatch(r"[^:/]+:\d{1,5}", address):
            raise LeakscopeError(f"{address} is not the address of a cluster; give HOST:PORT.")
        self._address, self._workers = address, workers
        self._cores, self._gpus = cores, gpus
        self._needs = NodeNeeds.of_this_process(tuple(needs))
        self._shares = () if address is None else tuple(shares)
        self._opened = ExitStack()
        self._cluster: ExitStack | None = None

    def __enter__(self) -> "RayEngine":
        with ExitStack() as opened:
            opened.enter_context(unwinding_sigterm())
            opened.callback(self.close)
            for folder in self._shares:
                with _there_meanwhile(folder):
                    shared = self._is_seen_by_all(folder)
                if not shared:
                    raise LeakscopeError(
                        f"The nodes of the cluster do not share {folder}, where models are to be "
                        f"trained for this report; give a folder that they share as --public-dir, "
                        f"or give models that each node has."
                    )
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

    def close(self) -> None:
        """Stop the cluster if it was started here, and leave it otherwise."""
        if self._cluster is not None:
            with held_signals():
                self._cluster.close()
            self._cluster = None

    def map(
        self,
        stage: Stage,
        keys: list[str],
        folder: Path,
        *,
        sizes: Sequence[int] | None = None,
        unit: str = "",
        keep: Callable[[Path], bool] = Path.exists,
        progress: Progress = silent,
    ) -> list[Path]:
        """See `Engine`. Workers that die are replaced, and their shards done again."""
        if reads_outputs(stage) and not self._is_seen_by_all(folder):
            here = LocalEngine(self._cores)
            return here.map(
                stage, keys, folder, sizes=sizes, unit=unit, keep=keep, progress=progress
            )
        shards = DueShards(stage, keys, folder, sizes, unit, keep, progress)
        if shards.due:
            self._reach()
            request = self._request(stage)
            kind = ActorWorkers if loads_model(stage) else TaskWorkers
            try:
                _run(stage, shards, kind(stage, request), self._needs)
            except BaseException:
                self.close()  # which ends tasks; to cancel one that ends just then crashes Ray
                raise
        return shards.targets

    def _is_seen_by_all(self, folder: Path) -> bool:
        """Whether all nodes have the same folder at this path, as on a shared file system."""
        if self._address is None:
            return True
        self._reach()
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".leakscope") as probe:
            seen = ray_client.ask_nodes(os.path.exists, probe.name, timeout=PATIENCE)
        return False not in seen

    def _request(self, stage: Stage) -> dict[str, float]:
        """What a worker of this stage needs of its node."""
        if not loads_model(stage):
            return {"CPU": 1}
        if self._gpus and any("GPU" in has for has in ray_client.nodes().values()):
            return {"CPU": self._cores, "GPU": 1}
        return {"CPU": self._cores}

    def _reach(self) -> None:
        if self._cluster is not None:
            return
        with ExitStack() as failing:
            failing.callback(self.close)
            with held_signals() as noted, ExitStack() as opened:
                folder = opened.enter_context(private_scratch("ls-ray"))
                if self._address is None:
                    cores = self._workers * self._cores
                    cluster = ray_client.started_cluster(folder, cores, given_up=noted)
                else:
                    cluster = ray_client.joined_cluster(self._address, folder)
                opened.enter_context(cluster)
                self._cluster = opened.pop_all()
            # Before anything but paths goes there.
            for problem in ray_client.ask_nodes(_look, self._needs, timeout=PATIENCE):
                if problem is not None:
                    raise LeakscopeError(problem)
            failing.pop_all()


@contextmanager
def _there_meanwhile(folder: Path) -> Iterator[None]:
    """A folder that is there for the time of the block, and afterwards as before."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    private_directory(folder)
    try:
        yield
    finally:
        for each in made:
            with suppress(OSError):  # somebody else has put something into it
                each.rmdir()


def _look(needs: NodeNeeds) -> str | None:
    """On a worker: what its node lacks."""
    return needs.problem()


def _run(stage: Stage, shards: DueShards, workers: Workers, needs: NodeNeeds) -> None:
    """Make the outputs that are due."""
    run = secrets.token_hex(8)
    queue = ShardQueue(stage.name, shards.due)
    try:
        while queue.open:
            workers.begin(
                queue, lambda index: ShardOrder(run, index, shards.targets[index].name, needs)
            )
            for index, came in workers.finished(queue):
                if isinstance(came, Failure) and not came.again:
                    raise came.error
                if isinstance(came, ShardOutput) and came.save(shards.targets[index]):
                    queue.done(index)
                    shards.made(index)
                else:
                    queue.lost(index)
    finally:
        workers.stop()
