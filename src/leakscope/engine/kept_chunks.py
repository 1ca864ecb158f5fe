"""Work in chunks, each of which is kept under all that decides it until the command is finished."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import Progress, only_warnings, silent, tell_damaged
from leakscope.engine.stages import Engine, Work, output_of
from leakscope.records.artifacts import (
    damaged,
    digest_of,
    is_intact,
    parquet_sink,
    private_directory,
    read_parquet,
)
from leakscope.records.output_claim import remove
from leakscope.records.seal import OWN


class Chunks(Protocol):
    """Work that falls into chunks, none of which needs another one."""

    @property
    def name(self) -> str:
        """Of the stage."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Of what is made of each."""
        ...

    def digests(self) -> list[str]:
        """Of everything that each is made from, but for what decides all of them."""
        ...

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """Load what the work needs; the work makes chunk i."""
        ...


@dataclass(frozen=True)
class _ChunkStage:
    """The `engine` stage: output i is chunk i."""

    chunks: Chunks

    @property
    def name(self) -> str:
        return self.chunks.name

    def start(self) -> Work:
        """See `Stage`."""
        make = self.chunks.start()
        return lambda index, target: _write(target, make(index), self.chunks.schema)


@dataclass(frozen=True)
class KeptChunks:
    """What is kept of a command that has not finished. The folder is made when there is something
    to keep.
    """

    folder: Path | None = None
    """None: nothing is kept."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What decides all chunks, as plain data: models, how they are run, and the packages that do.
    """
    engine: Engine = field(default_factory=LocalEngine)
    progress: Progress = field(default=silent, repr=False)
    """Told what is damaged."""

    @property
    def is_begun(self) -> bool:
        """Whether there may be something."""
        return self.folder is not None and self.folder.is_dir()

    def made(
        self, chunks: Chunks, sizes: Sequence[int] | None = None, progress: Progress | None = None
    ) -> list[pa.Table]:
        """All chunks in their order; those that are there as they were written are not made again.
        Progress, if any is wanted, is told in `sizes[i]` for chunk i, or else in chunks.
        """
        digests, going = chunks.digests(), progress or only_warnings(self.progress)
        if self.folder is None:
            return _in_memory(chunks, sizes or [1] * len(digests), going)
        paths = self.engine.map(
            _ChunkStage(chunks),
            [self._key(each) for each in digests],
            self.folder,
            sizes=sizes,
            keep=is_intact,
            progress=going,
        )
        return [_read(path, chunks.schema) for path in paths]

    def are_kept(self, chunks: Chunks) -> list[bool]:
        """Of each chunk, whether it is there as it was written."""
        return [self.has(chunks.name, digest) for digest in chunks.digests()]

    def has(self, name: str, digest: str) -> bool:
        """Whether one output is there as it was written."""
        path = self._path(name, digest)
        return path is not None and is_intact(path)

    def find(self, name: str, digest: str, schema: pa.Schema) -> pa.Table | None:
        """One output, if it is there as it was written; a damaged one is named."""
        path = self._path(name, digest)
        if path is None or not path.exists():
            return None
        if not is_intact(path):
            tell_damaged([path], self.progress)
            return None
        return _read(path, schema)

    def keep(self, name: str, digest: str, batch: pa.RecordBatch) -> None:
        """Write one output."""
        path = self._path(name, digest)
        if path is not None:
            _write(path, batch, batch.schema)

    def forget(self, name: str, digest: str) -> None:
        """Remove one output, which is needed no more."""
        path = self._path(name, digest)
        if path is not None:
            remove(path)
            remove(path.with_name(path.name + OWN))

    def _path(self, name: str, digest: str) -> Path | None:
        return None if self.folder is None else output_of(name, self._key(digest), self.folder)

    def _key(self, digest: str) -> str:
        return digest_of([dict(self.identity), digest, version("leakscope")])


NOWHERE = KeptChunks()
"""For work that is kept by nobody."""


def _in_memory(chunks: Chunks, sizes: Sequence[int], progress: Progress) -> list[pa.Table]:
    found: list[pa.Table] = []
    done, total = 0, sum(sizes)
    progress(chunks.name, 0, total)
    make = chunks.start()
    for index, size in enumerate(sizes):
        found.append(pa.Table.from_batches([make(index)], chunks.schema))
        done += size
        progress(chunks.name, done, total)
    return found


def _write(path: Path, batch: pa.RecordBatch, schema: pa.Schema) -> None:
    private_directory(path.parent)
    with parquet_sink(path, schema, sealed=True) as writer:
        writer.write_batch(batch)


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    found = read_parquet(path)
    if found.schema != schema:
        raise damaged(path)
    return found
