"""What canaries are planted in, row by row: a corpus, or a file of data."""

import heapq
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.builder import row_problem
from leakscope.corpus.readers.byte_lines import lines
from leakscope.corpus.readers.detect import detect, read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import parsed
from leakscope.corpus.readers.row_values import require_columns, row_of
from leakscope.corpus.readers.rows import MALFORMED, Row
from leakscope.corpus.readers.table import arrow_errors, rows_of_batch
from leakscope.corpus.split import TRAIN, VALIDATION, in_validation
from leakscope.corpus.store import Corpus, Shard
from leakscope.records.errors import LeakscopeError

BATCH = 4096


class SourceRow(NamedTuple):
    """One row: what a corpus needs of it, and the row as it came."""

    row: Row
    """With its split; with its problem if it cannot be a document."""
    raw: Any
    """What the sink of the same format writes; None: the row is not written."""


class RowSource(Protocol):
    """Something that canaries can be planted in."""

    @property
    def format(self) -> str:
        """Of the planted rows: jsonl or parquet."""
        ...

    def rows(self) -> Iterator[SourceRow]:
        """All rows in their order, the same ones each time."""
        ...

    def planted(self, text: str, user: str, beside: SourceRow | None) -> dict[str, Any]:
        """The columns of a planted row; `beside` is a row of the same user, if there is one, and
        has the key as the data spells it, which may be a number.
        """
        ...

    def schema(self) -> pa.Schema | None:
        """The columns of the planted rows; None: they are JSONL."""
        ...


class CorpusSource:
    """A corpus directory: its planted rows are JSONL with `user`, `text` and `split`."""

    format = "jsonl"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def rows(self) -> Iterator[SourceRow]:
        """See `RowSource`: in the order of the corpus."""
        for shard in self._corpus.shards:
            keys = shard.user_keys()
            parts = (_of_split(shard, split) for split in (TRAIN, VALIDATION))
            for _, number, split, text in heapq.merge(*parts):
                user = keys[number]
                raw = {"user": user, "text": text, "split": split}
                yield SourceRow(Row(user, text, split=split), raw)

    def planted(self, text: str, user: str, beside: SourceRow | None) -> dict[str, Any]:
        """See `RowSource`."""
        return {"user": user, "text": text, "split": TRAIN}

    def schema(self) -> None:
        """See `RowSource`: JSONL."""
        return


def _of_split(shard: Shard, split: str) -> Iterator[tuple[int, int, str, str]]:
    """(document, user, split, text) in the order of documents."""
    for part in shard.documents(split, texts=True):
        for index, text in enumerate(part.texts or ()):
            yield int(part.numbers[index]), int(part.users[index]), split, text


class DataSource:
    """A file or folder that `corpus build` reads. JSONL and Parquet keep their rows as they are;
    what comes in another format becomes JSONL.
    """

    def __init__(
        self,
        path: Path,
        settings: InputSettings,
        build: BuildSettings,
        split_column: str | None = None,
        train_value: str = TRAIN,
    ) -> None:
        self._path, self._settings, self._build = path, settings, build
        self._split_column, self._train_value = split_column, train_value
        self.kind = settings.format or detect(path)
        self.format = self.kind if self.kind in ("jsonl", "parquet") else "jsonl"
        if split_column is not None and self.kind not in ("jsonl", "parquet"):
            raise LeakscopeError("--split-column needs data in JSONL or Parquet.")

    def schema(self) -> pa.Schema | None:
        """See `RowSource`."""
        if self.kind != "parquet":
            return None
        with arrow_errors(self._path, "Parquet"), pq.ParquetFile(self._path) as file:
            return file.schema_arrow

    def planted(self, text: str, user: str, beside: SourceRow | None) -> dict[str, Any]:
        """See `RowSource`."""
        key: Any = user
        if beside is not None and self.kind == "parquet":
            batch, index = beside.raw
            key = batch.column(self._settings.user_column)[index].as_py()
        elif beside is not None and self.kind == "jsonl":
            key = json.loads(beside.raw)[self._settings.user_column]
        values = {self._settings.user_column: key, self._settings.text_column: text}
        return (
            values
            if self._split_column is None
            else values | {self._split_column: self._train_value}
        )

    def rows(self) -> Iterator[SourceRow]:
        """See `RowSource`; every document has the split that `corpus build` would give it, or that
        of its column.
        """
        read_rows = {"jsonl": self._jsonl, "parquet": self._parquet}.get(self.kind, self._other)
        seen: Counter[str] = Counter()
        for row, raw, split in read_rows():
            problem = row.problem or row_problem(row, self._build)
            if problem is not None or row.user is None:
                yield SourceRow(Row(None, None, problem or MALFORMED), raw)
                continue
            if self._split_column is None:
                terms = (self._build.validation, self._build.split_by, self._build.seed)
                held = in_validation(*terms, row.user, seen[row.user])
                seen[row.user] += 1
            else:
                held = split != self._train_value
            decided = row._replace(split=VALIDATION if held else TRAIN)
            yield SourceRow(decided, raw)

    def _jsonl(self) -> Iterator[tuple[Row, Any, Any]]:
        first = True
        for line in lines(self._path):
            if line is None:
                raise LeakscopeError(
                    f"{self._path} has a line that is too long to be kept as it is; take it out."
                )
            raw = line.rstrip(b"\r\n")
            if not raw.strip():
                continue
            record = parsed(raw)
            if isinstance(record, Row):
                yield record, raw, None
                continue
            if first:
                require_columns(self._path, list(record), self._settings)
                first = False
            user, text = self._settings.user_column, self._settings.text_column
            split = None if self._split_column is None else record.get(self._split_column)
            yield row_of(record.get(user), record.get(text)), raw, split

    def _parquet(self) -> Iterator[tuple[Row, Any, Any]]:
        with (
            arrow_errors(self._path, "Parquet"),
            pq.ParquetFile(self._path, page_checksum_verification=True) as file,
        ):
            names = file.schema_arrow.names
            require_columns(self._path, names, self._settings)
            if self._split_column is not None and self._split_column not in names:
                raise LeakscopeError(f"{self._path} has no column for --split-column.")
            for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                rows = rows_of_batch(batch, self._settings)
                splits: list[Any] = [None] * batch.num_rows
                if self._split_column is not None:
                    splits = batch.column(self._split_column).to_pylist()
                for index, row in enumerate(rows):
                    yield row, (batch, index), splits[index]

    def _other(self) -> Iterator[tuple[Row, Any, Any]]:
        names = (self._settings.user_column, self._settings.text_column)
        for row in read(self._path, self._settings):
            raw = None if row.problem else dict(zip(names, (row.user, row.text), strict=True))
            yield row, raw, None
