"""Documents and words of each user, noted while the documents stream by to be counted."""

from collections.abc import Iterator

import numpy as np

from leakscope.corpus.store import Shard
from leakscope.records.documents import Documents, IntArray, LongArray
from leakscope.records.runs.run_metrics import AuditedPart


class UserSizes:
    """[users] numbers of training documents and of their words, from the user `first` on."""

    def __init__(self, users: int, first: int = 0) -> None:
        self.first = first
        self.documents: LongArray = np.zeros(users, np.int64)
        self.words: LongArray = np.zeros(users, np.int64)

    def of(self, users: IntArray) -> AuditedPart:
        """How much training text some users have."""
        documents = self.documents[users]
        return AuditedPart(
            users=int((documents > 0).sum()),
            documents=int(documents.sum()),
            words=int(self.words[users].sum()),
        )

    def watch(self, shard: Shard) -> Iterator[Documents]:
        """The shard's training documents. Shards have users of their own, so threads may watch
        several at once.
        """
        for documents in shard.documents():
            low = int(documents.users[0]) - self.first
            high = int(documents.users[-1]) + 1 - self.first
            users = documents.users - documents.users[0]
            self.documents[low:high] += np.bincount(users, minlength=high - low)
            lengths = documents.lengths().astype(np.float64)
            self.words[low:high] += np.bincount(users, lengths, high - low).astype(np.int64)
            yield documents
