"""Tables are written by a stage: each in parts, kept under the digests of all that goes into them,
and then put together without decoding anything again.

The parts read S where it stands, in files that have no name, so the stage runs on threads of this
process, whatever engine scores.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from leakscope.engine.progress import Progress
from leakscope.engine.stages import Work
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.records.artifacts import digest_of, is_intact, parquet_sink
from leakscope.records.tables.parquet_joining import join_parquet


class PartedTable(Protocol):
    """A table of a run. A part is made from its content and from nothing else."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        ...

    @property
    def parts(self) -> int:
        """How many parts it is made in, at least one."""
        ...

    def content(self, part: int) -> Any:
        """A frozen dataclass of arrays and plain data: all that decides the rows of a part."""
        ...

    def rows(self, part: int) -> Iterator[pa.Table]:
        """The rows of a part, a row group each time."""
        ...


@dataclass(frozen=True)
class TableStage:
    """The `engine` stage over parts of tables."""

    places: Sequence[tuple[PartedTable, int]]
    name: str = "write"
    reads_outputs: ClassVar[bool] = True

    def start(self) -> Work:
        """Nothing is to be loaded."""
        return lambda index, target: _write_part(*self.places[index], target)


def write_tables(
    tables: Mapping[Path, PartedTable], work: Path, threads: int, progress: Progress
) -> None:
    """Write each table to its path, by way of parts that are kept in `work`."""
    places = [(table, part) for table in tables.values() for part in range(table.parts)]
    with ThreadPoolExecutor(threads) as pool:
        keys = list(pool.map(lambda place: _key(*place), places))
    made = iter(
        ThreadEngine(threads).map(
            TableStage(places), keys, work, unit="parts", keep=is_intact, progress=progress
        )
    )
    for path, table in tables.items():
        join_parquet([next(made) for _ in range(table.parts)], path)


def _write_part(table: PartedTable, part: int, target: Path) -> None:
    with parquet_sink(target, table.schema, sealed=True) as writer:
        for rows in table.rows(part):
            if len(rows):
                writer.write_table(rows)


def _key(table: PartedTable, part: int) -> str:
    return digest_of(
        {
            "schema": str(table.schema),
            "content": digest_of_content(table.content(part)),
            "pyarrow": pa.__version__,
            "leakscope": version("leakscope"),
        }
    )


def digest_of_content(content: Any) -> str:
    """A digest of a dataclass of arrays, other dataclasses, and plain data."""
    digest = hashlib.blake2b(digest_size=16)
    for field in fields(content):
        value = getattr(content, field.name)
        if isinstance(value, np.ndarray):
            said: Any = [str(value.dtype), list(value.shape)]
        elif hasattr(value, "__dataclass_fields__"):
            said = digest_of_content(value)
        else:
            said = ["plain", value]
        digest.update(json.dumps([field.name, said]).encode() + b"\n")
        if isinstance(value, np.ndarray):
            digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()
