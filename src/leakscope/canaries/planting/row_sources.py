"""What canaries are planted in, row by row: a corpus, or a file of data."""

import heapq
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.corpus_files import digest_of_corpus_files
from leakscope.corpus.parts.python_rows import row_problem
from leakscope.corpus.readers.byte_lines import lines
from leakscope.corpus.readers.detect import detect, read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import parsed
from leakscope.corpus.readers.row_values import require_columns, row_of, wanted_columns
from leakscope.corpus.readers.rows import MALFORMED, Origin, Row
from leakscope.corpus.readers.table import arrow_errors, rows_of_batch
from leakscope.corpus.split import TRAIN, VALIDATION, in_validation, split_named
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

    @property
    def split_given(self) -> bool:
        """Whether the planted rows say which of them are held out."""
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

    def decided_by(self) -> Any:
        """What decides the rows, besides the bytes of the data and the settings of the build."""
        ...


class CorpusSource:
    """A corpus directory: its planted rows are JSONL with `user`, `text` and `split`."""

    format = "jsonl"
    split_given = True

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def rows(self) -> Iterator[SourceRow]:
        """See `RowSource`: in the order of the corpus."""
        for shard in self._corpus.shards:
            keys = shard.user_keys()
            origins = shard.origins()
            parts = (_of_split(shard, split) for split in (TRAIN, VALIDATION))
            for document, number, split, text in heapq.merge(*parts):
                user = keys[number]
                raw = {"user": user, "text": text, "split": split}
                row = Row(user, text, split=split, origin=origins.of(document))
                yield SourceRow(row, raw)

    def planted(self, text: str, user: str, beside: SourceRow | None) -> dict[str, Any]:
        """See `RowSource`."""
        return {"user": user, "text": text, "split": TRAIN}

    def schema(self) -> None:
        """See `RowSource`: JSONL."""
        return

    def decided_by(self) -> str:
        """See `RowSource`: the files, since the corpus's own digest leaves out where rows come
        from.
        """
        return digest_of_corpus_files(self._corpus)


def _of_split(shard: Shard, split: str) -> Iterator[tuple[int, int, str, str]]:
    """(document, user, split, text) in the order of documents."""
    for part in shard.documents(split, texts=True):
        for index, text in enumerate(part.texts or ()):
            yield int(part.numbers[index]), int(part.users[index]), split, text


class DataSource:
    """A file or folder that `corpus build` reads. JSONL and Parquet keep their rows as they are;
    what comes in another format becomes JSONL.
    """

    def __init__(self, path: Path, settings: InputSettings, build: BuildSettings) -> None:
        self._path, self._settings, self._build = path, settings, build
        self.kind = settings.format or detect(path)
        self.format = self.kind if self.kind in ("jsonl", "parquet") else "jsonl"
        self.split_given = settings.split_column is not None

    def schema(self) -> pa.Schema | None:
        """See `RowSource`."""
        if self.kind != "parquet":
            return None
        with arrow_errors(self._path, "Parquet"), pq.ParquetFile(self._path) as file:
            return file.schema_arrow

    def planted(self, text: str, user: str, beside: SourceRow | None) -> dict[str, Any]:
        """See `RowSource`. User and split are spelled as in the row beside it."""
        columns = wanted_columns(self._settings)
        values: list[Any] = [user, text, TRAIN][: len(columns)]
        if beside is not None and self.kind == "parquet":
            batch, index = beside.raw
            values = [batch.column(name)[index].as_py() for name in columns]
        elif beside is not None and self.kind == "jsonl":
            record = json.loads(beside.raw)
            values = [record[name] for name in columns]
        values[1] = text
        return dict(zip(columns, values, strict=True))

    def decided_by(self) -> dict[str, Any]:
        """See `RowSource`: how the data is read."""
        return {**asdict(self._settings), "format": self.kind}

    def rows(self) -> Iterator[SourceRow]:
        """See `RowSource`; every document has the split that `corpus build` would give it, or that
        of its column.
        """
        read_rows = {"jsonl": self._jsonl, "parquet": self._parquet}.get(self.kind, self._other)
        seen: Counter[str] = Counter()
        for number, (row, raw) in enumerate(read_rows(), 1):
            problem = row.problem or row_problem(row, self._build)
            if problem is not None or row.user is None:
                yield SourceRow(Row(None, None, problem or MALFORMED), raw)
                continue
            if row.split is None:
                terms = (self._build.validation, self._build.split_by, self._build.seed)
                held = in_validation(*terms, row.user, seen[row.user])
                seen[row.user] += 1
            else:
                held = split_named(row.split) != TRAIN
            split = VALIDATION if held else TRAIN
            decided = row._replace(split=split, origin=Origin(0, number))
            yield SourceRow(decided, raw)

    def _jsonl(self) -> Iterator[tuple[Row, Any]]:
        first, columns = True, wanted_columns(self._settings)
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
                yield record, raw
                continue
            if first:
                require_columns(self._path, list(record), self._settings)
                first = False
            yield row_of(*(record.get(column) for column in columns)), raw

    def _parquet(self) -> Iterator[tuple[Row, Any]]:
        with (
            arrow_errors(self._path, "Parquet"),
            pq.ParquetFile(self._path, page_checksum_verification=True) as file,
        ):
            require_columns(self._path, file.schema_arrow.names, self._settings)
            for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                for index, row in enumerate(rows_of_batch(batch, self._settings)):
                    yield row, (batch, index)

    def _other(self) -> Iterator[tuple[Row, Any]]:
        columns = wanted_columns(self._settings)
        for row in read(self._path, self._settings):
            values = (row.user, row.text, row.split)[: len(columns)]
            yield row, None if row.problem else dict(zip(columns, values, strict=True))
