"""One map over shards, or pieces of them: in this process, or on several. Every output is a file of
its own, named after the digest of what went into it, so a killed run resumes and never mixes
settings.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Protocol

from leakscope.engine.progress import Progress, silent
from leakscope.records.errors import LeakscopeError

Work = Callable[[int, Path], None]


class Stage(Protocol):
    """Work on one shard after another. It must be picklable to run on several processes."""

    @property
    def name(self) -> str:
        """Begins the names of the output files."""
        ...

    def start(self) -> Work:
        """Load what the work needs, once a process; the work writes shard i's output to a path,
        whole or not at all.
        """
        ...


def map_shards(
    stage: Stage,
    keys: list[str],
    folder: Path,
    *,
    sizes: Sequence[int] | None = None,
    unit: str = "",
    workers: int = 1,
    keep: Callable[[Path], bool] = Path.exists,
    progress: Progress = silent,
) -> list[Path]:
    """The output of `stage` for each shard, in order; those that exist already are kept, if `keep`
    finds them good.

    `keys[i]` is the digest of everything that decides the output for shard i. Progress is told in
    `sizes[i]`, so many of a `unit` for shard i, or else in shards.
    """
    targets = [folder / f"{stage.name}-{key}.parquet" for key in keys]
    due = [index for index, target in enumerate(targets) if not keep(target)]
    each = [1] * len(targets) if sizes is None else list(sizes)
    total = sum(each)
    done = total - sum(each[index] for index in due)
    progress(stage.name, done, total, unit)
    if workers <= 1 or len(due) <= 1:
        if due:
            work = stage.start()
        for index in due:
            work(index, targets[index])
            done += each[index]
            progress(stage.name, done, total, unit)
        return targets
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start, (stage, os.getpid())) as pool:
        futures: dict[Future[None], int] = {
            pool.submit(_run, index, targets[index]): index for index in due
        }
        try:
            for future in as_completed(futures):
                future.result()
                done += each[futures[future]]
                progress(stage.name, done, total, unit)
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
    return targets


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
