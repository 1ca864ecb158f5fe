"""What one corpus has more than another: the documents, as a multiset, by user and words."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.auditing.updates.counted_shards import grouped
from leakscope.corpus.store import Corpus, Shard, concatenate
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import Documents

_BYTES = 16


def added_documents(old: Corpus | None, new: Corpus, kept: KeptChunks = NOWHERE) -> Documents:
    """The documents of D in `new` that `old` does not have, in user order, by the numbers and words
    of `new`. A document that stands twice as often there is in it as often as it is more. Without
    an old corpus, all. Digests of documents that are `kept` are not made again.
    """
    known = Counter() if old is None else Counter(_keys_of(old, kept))
    keys = _keys_of(new, kept)
    parts: list[Documents] = []
    for shard in new.shards:
        for chunk in shard.documents():
            rows = []
            for row in range(len(chunk)):
                key = next(keys)
                if known[key]:
                    known[key] -= 1
                else:
                    rows.append(row)
            if rows:
                parts.append(chunk.take(np.array(rows, np.int64)))
    return concatenate(parts)


def _keys_of(corpus: Corpus, kept: KeptChunks) -> Iterator[bytes]:
    """The digest of user and words of every document of D, in order."""
    for part in kept.made(DocumentKeys(grouped(corpus), corpus)):
        for chunk in part["key"].chunks:
            yield from chunk.to_pylist()


@dataclass(frozen=True)
class DocumentKeys:
    """The `Chunks` of telling documents apart: the digests of those in each group of shards."""

    groups: tuple[tuple[Shard, ...], ...]
    corpus: Corpus
    name: str = "document keys"
    schema: ClassVar[pa.Schema] = pa.schema([("key", pa.binary(_BYTES))])

    def digests(self) -> list[str]:
        """See `Chunks`."""
        terms = [self.corpus.manifest.lexicon_digest, self.corpus.training]
        return [digest_of([*terms, *(shard.digest for shard in each)]) for each in self.groups]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        words = self.corpus.lexicon.words

        def keys(index: int) -> pa.RecordBatch:
            found = [key for shard in self.groups[index] for key in _keyed(shard, words)]
            return pa.record_batch([pa.array(found, pa.binary(_BYTES))], schema=self.schema)

        return keys


def _keyed(shard: Shard, words: Sequence[str]) -> Iterator[bytes]:
    keys = shard.user_keys()
    for chunk in shard.documents():
        for row, user in enumerate(chunk.users.tolist()):
            yield _digest([keys[user], *(words[id] for id in chunk.words_of(row).tolist())])


def _digest(said: list[str]) -> bytes:
    """Words have no control characters in them, and a user's key is told apart by its length."""
    head = f"{len(said[0])}\x1f"
    return blake2b((head + "\x1f".join(said)).encode(), digest_size=_BYTES).digest()
