"""Parts: Arrow files that a build keeps until it is finished, each with a seal of its own.

A part is named after the digest of all that it is made from. One that is found again is used if it
is, byte for byte, what was written; otherwise it is made again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakscope.engine.progress import Progress
from leakscope.engine.stages import Stage
from leakscope.records.artifacts import digest_of_file, is_intact, partial_name
from leakscope.records.seal import OWN, render_seal

_NOTE = b"leakscope"


@contextmanager
def part_sink(path: Path, schema: pa.Schema) -> Iterator[Callable[..., None]]:
    """A function that writes a record batch, and plain data as its `note`, into the part `path`.
    The part and its seal appear when the block ends well.
    """
    with _unsynced(path) as partial:
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema) as writer:

            def write(batch: pa.RecordBatch, note: Any = None) -> None:
                writer.write_batch(batch, custom_metadata={_NOTE: json.dumps(note).encode()})

            yield write
        seal = render_seal({path.name: digest_of_file(partial)})
        with _unsynced(path.with_name(path.name + OWN)) as own:
            own.write_text(seal, encoding="utf-8")


@contextmanager
def _unsynced(path: Path) -> Iterator[Path]:
    """`whole_file` that does not wait for the disk: a part that a power cut tears does not match
    its seal, and is made again.
    """
    partial = partial_name(path)
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened_part(path: Path) -> Iterator[list[tuple[pa.RecordBatch, Any]]]:
    """The record batches of a part with their notes, mapped into memory while the block runs."""
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        found = [
            reader.get_batch_with_custom_metadata(number)
            for number in range(reader.num_record_batches)
        ]
        yield [(each.batch, json.loads(each.custom_metadata[_NOTE])) for each in found]


def notes_of(path: Path) -> list[Any]:
    """The notes of a part's record batches."""
    with opened_part(path) as batches:
        return [note for _, note in batches]


def part_paths(stage: Stage, keys: Sequence[str], folder: Path, suffix: str) -> list[Path]:
    """Where the parts of a stage are."""
    name = stage.name.replace(" ", "-")
    return [folder / f"{name}-{key}{suffix}" for key in keys]


def make_parts(
    stage: Stage,
    keys: Sequence[str],
    folder: Path,
    *,
    threads: int,
    progress: Progress,
    suffix: str = ".arrow",
    keep: Callable[[Path], bool] = is_intact,
) -> list[Path]:
    """The part of `stage` for each key, in order; those that are there are kept, if `keep` finds
    them good.

    Compiled code and Arrow let go of the interpreter, so threads are enough.
    """
    targets = part_paths(stage, keys, folder, suffix)
    due = [index for index, target in enumerate(targets) if not keep(target)]
    done = len(targets) - len(due)
    progress(stage.name, done, len(targets))
    if not due:
        return targets
    work = stage.start()
    if threads == 1 or len(due) == 1:
        for index in due:
            work(index, targets[index])
            done += 1
            progress(stage.name, done, len(targets))
        return targets
    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(work, index, targets[index]) for index in due}
        try:
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    future.result()
                    done += 1
                progress(stage.name, done, len(targets))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return targets
