"""The engine of one machine: in this process, or on several."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import DueShards, Stage, Work
from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class LocalEngine:
    """Runs stages on so many processes; one: this one."""

    workers: int = 1

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
        """See `Engine`."""
        shards = DueShards(stage, keys, folder, sizes, unit, keep, progress)
        if self.workers <= 1 or len(shards.due) <= 1:
            _map_here(stage, shards)
        else:
            _map_on_processes(stage, shards, self.workers)
        return shards.targets


def _map_here(stage: Stage, shards: DueShards) -> None:
    if not shards.due:
        return
    work = stage.start()
    for index in shards.due:
        work(index, shards.targets[index])
        shards.made(index)


def _map_on_processes(stage: Stage, shards: DueShards, workers: int) -> None:
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (stage, os.getpid())) as pool:
        futures: dict[Future[None], int] = {
            pool.submit(_run, index, shards.targets[index]): index for index in shards.due
        }
        try:
            for future in as_completed(futures):
                future.result()
                shards.made(futures[future])
        except BrokenProcessPool:
            raise LeakscopeError(
                f"A worker process died in stage {stage.name} (out of memory?); run the same "
                f"command again to go on from what is done, with fewer --workers."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()  # outputs are written whole or not at all
            raise


_works: list[Work | LeakscopeError] = []  # of this worker process: one, put there by _start


def _start(stage: Stage, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C does
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    try:
        _works[:] = [stage.start()]
    except LeakscopeError as error:
        _works[:] = [error]  # a pool would say no more than that a worker died


def _follow(parent: int) -> None:
    """End this worker when its parent is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _run(index: int, target: Path) -> None:
    work = _works[0]
    if isinstance(work, LeakscopeError):
        raise work
    work(index, target)
