"""The engine of one process: threads, for stages whose work is compiled and needs no lock."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import DueShards, Stage


@dataclass(frozen=True)
class ThreadEngine:
    """Runs stages on so many threads of this process; a stage is started once on each."""

    threads: int = 1

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
        """See `Engine`. After an error, what the other threads are at is finished and kept."""
        shards = DueShards(stage, keys, folder, sizes, unit, keep, progress)
        mine = threading.local()

        def run(index: int) -> None:
            if not hasattr(mine, "work"):
                mine.work = stage.start()
            mine.work(index, shards.targets[index])

        pool = ThreadPoolExecutor(max(1, min(self.threads, len(shards.due))))
        futures: dict[Future[None], int] = {pool.submit(run, index): index for index in shards.due}
        try:
            for future in as_completed(futures):
                future.result()
                shards.made(futures[future])
        finally:
            pool.shutdown(cancel_futures=True)
        return shards.targets
