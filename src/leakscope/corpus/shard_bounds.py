"""What the numbers in a shard may be, and the checks that hold them to it.

Compiled code trusts these numbers as places in memory, and a corpus may come from anybody, so
every chunk is checked when it is read.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.shard_schema import ORIGIN, SCHEMA
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path


@dataclass(frozen=True)
class ShardBounds:
    """The lowest and the highest number of a shard's users and documents, as its footer says, and
    how many words the lexicon has and files the documents come from.
    """

    users: tuple[int, int]
    documents: tuple[int, int]
    lexicon: int
    origins: int = 0


def untrue(path: Path, what: str) -> LeakscopeError:
    """The error for a file of a corpus that contradicts the others."""
    return LeakscopeError(f"{path} {what}; build the corpus again.")


def shard_paths(corpus: Path, names: list[str]) -> list[Path]:
    """The files of the shards; raise if a name leads out of the corpus, also by a link."""
    folder, root = corpus / "shards", real_path(corpus)
    for name in names:
        plain = Path(name).name == name and not {"\\", "\0"} & set(name)
        inside = plain and real_path(folder / name).is_relative_to(root)
        if not inside or not name.endswith(".parquet"):
            raise untrue(corpus / "manifest.json", "names a shard that is not in the corpus")
    return [folder / name for name in names]


def shard_bounds(corpus: Path, manifest: CorpusManifest) -> list[tuple[Path, ShardBounds]]:
    """Each shard with its bounds, from the footers alone. Raise unless users and documents rise
    from shard to shard and are as many as the manifest says.
    """
    found, rows, user, document = [], 0, -1, -1
    files = len(manifest.origins)
    for path in shard_paths(corpus, manifest.shards):
        with open_parquet(path, checked=True) as reader:  # a shard is checked when it is read
            _require_schema(path, reader.schema_arrow)
            rows += reader.metadata.num_rows
            users, documents = (_range(path, reader, name) for name in ("user", "document"))
        if users[0] <= user or documents[0] <= document:
            raise untrue(path, "has users or documents of the shard before it")
        user, document = users[1], documents[1]
        found.append((path, ShardBounds(users, documents, manifest.lexicon, files)))
    said = manifest.train.documents + manifest.validation.documents
    if user + 1 != manifest.users or document >= said or rows != said:
        raise untrue(
            corpus / "manifest.json", "says other numbers of users or documents than its shards"
        )
    return found


def require_sound(path: Path, table: pa.Table) -> None:
    """Raise if a chunk has no value where there must be one, or a split that nobody knows."""
    words = table["words"].chunks
    if any(column.null_count for column in (*table.columns, *(each.values for each in words))):
        raise damaged(path)
    known = pc.is_in(table["split"], value_set=pa.array([TRAIN, VALIDATION]))
    if not pc.all(known).as_py():
        raise untrue(path, "has documents that are neither for training nor for validation")


class ChunkChecker:
    """Holds the chunks of one shard, in their order, to its bounds."""

    def __init__(self, path: Path, bounds: ShardBounds) -> None:
        self._path, self._bounds = path, bounds
        self._user, self._document = bounds.users[0], bounds.documents[0] - 1

    def check(self, chunk: Documents) -> None:
        """Raise unless words, users and documents are within bounds and in order."""
        if not len(chunk):
            return
        # Read as unsigned, a negative number is beyond every lexicon.
        if len(chunk.ids) and chunk.ids.view(np.uint32).max() >= self._bounds.lexicon:
            raise untrue(self._path, "has words that are not in the lexicon")
        users, numbers = chunk.users, chunk.numbers
        if (
            users[0] < self._user
            or users[-1] > self._bounds.users[1]
            or (users[1:] < users[:-1]).any()
        ):
            raise untrue(self._path, "has users that are out of order")
        if (
            numbers[0] <= self._document
            or numbers[-1] > self._bounds.documents[1]
            or (numbers[1:] <= numbers[:-1]).any()
        ):
            raise untrue(self._path, "has documents that are out of order")
        self._user, self._document = int(users[-1]), int(numbers[-1])


def _require_schema(path: Path, schema: pa.Schema) -> None:
    kept = set(ORIGIN) & set(schema.names)
    for field in SCHEMA:
        if field.name in ORIGIN and not kept:
            continue  # as in earlier versions
        places = schema.get_all_field_indices(field.name)
        if len(places) != 1 or schema.field(places[0]).type != field.type:
            raise untrue(path, f'has no column "{field.name}" of the right kind')


def _range(path: Path, reader: pq.ParquetFile, name: str) -> tuple[int, int]:
    """The lowest and the highest value of a column, which the chunks are held to later."""
    metadata = reader.metadata
    place = reader.schema_arrow.get_field_index(name)  # the columns before it are not nested
    told = [metadata.row_group(g).column(place).statistics for g in range(metadata.num_row_groups)]
    if not told or any(one is None or not one.has_min_max for one in told):
        raise damaged(path)
    low, high = min(one.min for one in told), max(one.max for one in told)
    if low < 0:
        raise untrue(path, f"has a {name} below 0")
    return low, high
