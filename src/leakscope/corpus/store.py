"""A corpus directory, opened: its lexicon and its documents, streamed shard by shard."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.manifest import SCHEMA_VERSION, CorpusManifest, SplitCounts
from leakscope.corpus.shard_bounds import (
    ChunkChecker,
    ShardBounds,
    require_sound,
    shard_bounds,
    shard_paths,
    untrue,
)
from leakscope.corpus.shard_origins import ShardOrigins, read_origins
from leakscope.corpus.split import ALL, TRAIN, VALIDATION
from leakscope.engine.spilled_array import is_long
from leakscope.records.artifacts import (
    check,
    checked_digest,
    damaged,
    missing,
    open_parquet,
    read_json,
    read_parquet,
)
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of
from leakscope.records.received_files import refuse_special_files


@dataclass(frozen=True)
class Shard:
    """Documents of whole users."""

    path: Path
    bounds: ShardBounds
    training: str = TRAIN
    """See `Corpus.training`."""

    @cached_property
    def digest(self) -> str:
        """Of the file, which is held to its seal; once for all that is read from it."""
        try:
            return checked_digest(self.path)
        except FileNotFoundError:
            raise missing(self.path) from None

    def documents(self, split: str | None = None, *, texts: bool = False) -> Iterator[Documents]:
        """Stream the documents of one split (by default D), a row group at a time, in user order;
        every number in them is within the shard's bounds.
        """
        for _, documents in self.groups(split, texts=texts):
            yield documents

    def groups(
        self, split: str | None = None, *, texts: bool = False
    ) -> Iterator[tuple[int, Documents]]:
        """The same, with the number of each row group."""
        reader = open_parquet(self.path, checked=bool(self.digest))
        checker = ChunkChecker(self.path, self.bounds)
        for group in range(reader.num_row_groups):
            documents = self._read(reader, group, split or self.training, texts=texts)
            checker.check(documents)
            if len(documents):
                yield group, documents

    def group(self, number: int, *, texts: bool = False) -> Documents:
        """The documents of D in one row group, by its number."""
        reader = open_parquet(self.path, checked=bool(self.digest))
        if number >= reader.num_row_groups:
            raise damaged(self.path)
        documents = self._read(reader, number, self.training, texts=texts)
        ChunkChecker(self.path, self.bounds).check(documents)
        return documents

    def _read(self, reader: pq.ParquetFile, group: int, split: str, *, texts: bool) -> Documents:
        columns = ["user", "document", "split", "words"] + (["text"] if texts else [])
        try:
            table = reader.read_row_group(group, columns=columns)
            require_sound(self.path, table)
            found = _documents(table, split)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise damaged(self.path) from None
        if is_long(len(found.ids)):  # reading takes several times their memory, which Arrow keeps
            del table
            pa.default_memory_pool().release_unused()
        return found

    def user_keys(self) -> dict[int, str]:
        """The key of each user in the shard, by number."""
        table = read_parquet(self.path, ["user", "user_key"], checked=bool(self.digest))
        pairs = table.group_by(["user", "user_key"]).aggregate([])
        try:
            keys = pairs["user_key"].to_pylist()
        except UnicodeDecodeError:
            raise damaged(self.path) from None
        found = dict(zip(pairs["user"].to_pylist(), keys, strict=True))
        if len(found) != len(keys) or None in found or None in keys:
            raise untrue(self.path, "has a user without a key, or with two")
        return found

    def origins(self) -> ShardOrigins:
        """Where each of the shard's documents comes from."""
        return read_origins(self.path, self.bounds, checked=bool(self.digest))


@dataclass(frozen=True)
class Corpus:
    """A corpus on disk."""

    path: Path
    manifest: CorpusManifest
    training: str = TRAIN
    """Which documents are D, what the model in question was trained on: the training documents,
    or all of them (or the held-out ones, to do with them what is done with D). Whoever reads
    documents without naming a split gets these."""

    @staticmethod
    def open(path: str | Path) -> "Corpus":
        """Open a corpus directory made by `build`."""
        path = Path(path)
        if not path.is_dir():
            raise LeakscopeError(f"{path} is not a corpus directory; make one with corpus build.")
        refuse_special_files(path)
        manifest = read_json(path / "manifest.json", CorpusManifest, "a corpus")
        if manifest.schema_version != SCHEMA_VERSION:
            raise LeakscopeError(
                f"{path} has corpus format {manifest.schema_version}, this version reads "
                f"{SCHEMA_VERSION}; build it again."
            )
        with open_parquet(path / "lexicon.parquet") as lexicon:
            if lexicon.metadata.num_rows != manifest.lexicon:
                raise untrue(
                    path / "manifest.json", "says another number of words than the lexicon has"
                )
        return Corpus(path, manifest)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words by id."""
        lexicon = Lexicon.load(self.path / "lexicon.parquet")
        if lexicon.digest != self.manifest.lexicon_digest:
            raise damaged(self.path / "lexicon.parquet")
        return lexicon

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards in user order, none of which has users of another."""
        try:
            found = shard_bounds(self.path, self.manifest)
        except LeakscopeError:
            for path in shard_paths(self.path, self.manifest.shards):
                check(path)  # of what is damaged, its seal knows best
            raise
        return [Shard(path, bounds, self.training) for path, bounds in found]

    def trained_on(self, training: str | None) -> "Corpus":
        """The same corpus with another D; None: its training documents."""
        return replace(self, training=training or TRAIN)

    def counts(self, split: str | None = None) -> SplitCounts:
        """How much a split (by default D) has, as the manifest says."""
        said, which = self.manifest, split or self.training
        if which != ALL:
            return said.validation if which == VALIDATION else said.train
        return SplitCounts(
            users=said.users,
            documents=said.train.documents + said.validation.documents,
            words=said.train.words + said.validation.words,
        )

    def held_out_as_training(self) -> "Corpus":
        """The same corpus with its held-out documents in the place of D."""
        return replace(self, training=VALIDATION)

    @property
    def held_out(self) -> SplitCounts:
        """How much of the corpus the model has not been trained on."""
        if self.training == ALL:
            return SplitCounts(users=0, documents=0, words=0)
        return self.manifest.validation

    def documents(self, split: str | None = None, *, texts: bool = False) -> Iterator[Documents]:
        """Stream all documents of one split (by default D), in user order."""
        documents, words = 0, 0
        for shard in self.shards:
            for chunk in shard.documents(split, texts=texts):
                documents += len(chunk)
                words += len(chunk.ids)
                yield chunk
        self.require_counts(split, documents, words)

    def require_counts(self, split: str | None, documents: int, words: int) -> None:
        """Raise unless a split has as many documents and words as the manifest says."""
        said = self.counts(split)
        if (said.documents, said.words) != (documents, words):
            raise untrue(
                self.path / "manifest.json",
                f"says other numbers of {split or self.training} documents or words than its "
                f"shards",
            )

    def load(self, split: str | None = None) -> Documents:
        """All documents of one split (by default D) at once, in four bytes per word."""
        return concatenate(list(self.documents(split)))


def concatenate(parts: list[Documents]) -> Documents:
    """Join documents that follow each other."""
    if not parts:
        return Documents.of([])
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([part.lengths() for part in parts])
    return Documents(
        np.concatenate([part.users for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        offsets_of(lengths),
        np.concatenate([part.ids for part in parts]),
        None
        if any(part.texts is None for part in parts)
        else [text for part in parts for text in part.texts or ()],
    )


def _documents(table: pa.Table, split: str) -> Documents:
    """The rows of one split as columns."""
    if split != ALL:
        chosen = pc.equal(table["split"], split)
        if not pc.all(chosen).as_py():  # a filter copies all that it keeps
            table = table.filter(chosen)
    lists = table["words"].combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # no rows
        lists = pa.array([], lists.type)
    offsets = lists.offsets.to_numpy().astype(np.int64)
    return Documents(
        table["user"].to_numpy().astype(np.int32),
        table["document"].to_numpy().astype(np.int64),
        offsets - offsets[0],
        lists.flatten().to_numpy(zero_copy_only=False).astype(np.int32, copy=False),
        table["text"].to_pylist() if "text" in table.column_names else None,
    )
