"""Sizes and digest of a corpus while it is built."""

import hashlib
from collections import Counter

import numpy as np

from leakscope.corpus.readers.rows import Row
from leakscope.corpus.shard_writer import StoredDocument
from leakscope.corpus.split import TRAIN, VALIDATION


class DoubtTally:
    """How many documents are doubtful, by what is; not known of those from another corpus."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._known = True

    def add(self, row: Row) -> None:
        """Count a row that becomes a document."""
        self._counts.update(row.doubts)
        self._known &= not row.accepted

    def counts(self) -> dict[str, int] | None:
        """The counts, or None if they are not known."""
        return dict(sorted(self._counts.items())) if self._known else None


class BuildTally:
    """Running sizes and digest of the documents as they stream by."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.users = 0
        self.documents = 0
        self.counts = {
            part: {"users": 0, "documents": 0, "words": 0} for part in (TRAIN, VALIDATION)
        }
        self.most_words = 0
        self._words = 0
        self._per_user: Counter[int] = Counter()
        self._current = {TRAIN: 0, VALIDATION: 0}

    def add(self, document: StoredDocument) -> None:
        """Count the next document."""
        for part in (document.user_key, document.split, document.text):
            data = part.encode()
            self.digest.update(b"%d:" % len(data) + data)
        self.documents += 1
        self._current[document.split] += 1
        self.counts[document.split]["documents"] += 1
        self.counts[document.split]["words"] += len(document.ids)
        self._words += len(document.ids)

    def close_user(self) -> None:
        """The user is complete."""
        self.users += 1
        self._per_user[sum(self._current.values())] += 1
        for part, documents in self._current.items():
            self.counts[part]["users"] += documents > 0
        self._current = dict.fromkeys(self._current, 0)
        self.most_words = max(self.most_words, self._words)
        self._words = 0

    def quantiles(self) -> dict[str, float]:
        """Documents per user: quantiles over the users, and the mean."""
        values = np.array(sorted(self._per_user), np.float64)
        weights = np.array([self._per_user[int(value)] for value in values])
        reached = np.cumsum(weights) / weights.sum()
        marks = {"min": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}
        found = {name: float(values[np.searchsorted(reached, q)]) for name, q in marks.items()}
        mean = float(np.average(values, weights=weights))
        return found | {"max": float(values[-1]), "mean": mean}
