"""What one corpus has more than another: the documents, as a multiset, by user and words."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from leakscope.corpus.store import Corpus, concatenate
from leakscope.records.documents import Documents

_BYTES = 16


def added_documents(old: Corpus | None, new: Corpus) -> Documents:
    """The documents of D in `new` that `old` does not have, in user order, by the numbers and words
    of `new`. A document that stands twice as often there is in it as often as it is more. Without
    an old corpus, all.
    """
    known = Counter() if old is None else Counter(key for key, _, _ in _keyed(old))
    parts: list[Documents] = []
    rows: list[int] = []
    current: Documents | None = None
    for key, chunk, row in _keyed(new):
        if chunk is not current:
            _take(parts, current, rows)
            current, rows = chunk, []
        if known[key]:
            known[key] -= 1
        else:
            rows.append(row)
    _take(parts, current, rows)
    return concatenate(parts)


def _take(parts: list[Documents], chunk: Documents | None, rows: list[int]) -> None:
    if chunk is not None and rows:
        parts.append(chunk.take(np.array(rows, np.int64)))


def _keyed(corpus: Corpus) -> Iterator[tuple[bytes, Documents, int]]:
    """(digest of user and words, the chunk that it is in, its row) of every document of D."""
    words = corpus.lexicon.words
    for shard in corpus.shards:
        keys = shard.user_keys()
        for chunk in shard.documents():
            for row, user in enumerate(chunk.users.tolist()):
                said = [keys[user], *(words[id] for id in chunk.words_of(row).tolist())]
                yield _digest(said), chunk, row


def _digest(said: list[str]) -> bytes:
    """Words have no control characters in them, and a user's key is told apart by its length."""
    head = f"{len(said[0])}\x1f"
    return blake2b((head + "\x1f".join(said)).encode(), digest_size=_BYTES).digest()
