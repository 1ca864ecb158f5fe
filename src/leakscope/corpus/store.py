"""A corpus directory, opened: its lexicon and its documents, streamed shard by shard."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.manifest import SCHEMA_VERSION, CorpusManifest
from leakscope.corpus.shard_bounds import (
    ChunkChecker,
    ShardBounds,
    require_sound,
    shard_bounds,
    untrue,
)
from leakscope.corpus.split import TRAIN
from leakscope.records.artifacts import damaged, open_parquet, read_json, read_parquet
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of
from leakscope.records.received_files import refuse_special_files


@dataclass(frozen=True)
class Shard:
    """Documents of whole users."""

    path: Path
    bounds: ShardBounds

    def documents(self, split: str = TRAIN, *, texts: bool = False) -> Iterator[Documents]:
        """Stream the documents of one split, a row group at a time, in user order; every number
        in them is within the shard's bounds.
        """
        columns = ["user", "document", "split", "words"] + (["text"] if texts else [])
        reader = open_parquet(self.path)
        checker = ChunkChecker(self.path, self.bounds)
        for group in range(reader.num_row_groups):
            try:
                table = reader.read_row_group(group, columns=columns)
                require_sound(self.path, table)
                documents = _documents(table, split)
            except (pa.ArrowException, OSError, UnicodeDecodeError):
                raise damaged(self.path) from None
            checker.check(documents)
            if len(documents):
                yield documents

    def user_keys(self) -> dict[int, str]:
        """The key of each user in the shard, by number."""
        table = read_parquet(self.path, ["user", "user_key"])
        pairs = table.group_by(["user", "user_key"]).aggregate([])
        try:
            keys = pairs["user_key"].to_pylist()
        except UnicodeDecodeError:
            raise damaged(self.path) from None
        found = dict(zip(pairs["user"].to_pylist(), keys, strict=True))
        if len(found) != len(keys) or None in found or None in keys:
            raise untrue(self.path, "has a user without a key, or with two")
        return found


@dataclass(frozen=True)
class Corpus:
    """A corpus on disk."""

    path: Path
    manifest: CorpusManifest

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
        return [Shard(path, bounds) for path, bounds in shard_bounds(self.path, self.manifest)]

    def documents(self, split: str = TRAIN, *, texts: bool = False) -> Iterator[Documents]:
        """Stream all documents of one split, in user order."""
        documents, words = 0, 0
        for shard in self.shards:
            for chunk in shard.documents(split, texts=texts):
                documents += len(chunk)
                words += len(chunk.ids)
                yield chunk
        self.require_counts(split, documents, words)

    def require_counts(self, split: str, documents: int, words: int) -> None:
        """Raise unless a split has as many documents and words as the manifest says."""
        said = self.manifest.train if split == TRAIN else self.manifest.validation
        if (said.documents, said.words) != (documents, words):
            raise untrue(
                self.path / "manifest.json",
                f"says other numbers of {split} documents or words than its shards",
            )

    def load(self, split: str = TRAIN) -> Documents:
        """All documents of one split at once, in four bytes per word."""
        return concatenate(list(self.documents(split)))


def concatenate(parts: list[Documents]) -> Documents:
    """Join documents that follow each other."""
    if not parts:
        return Documents.of([])
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
    table = table.filter(pc.equal(table["split"], split))
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
