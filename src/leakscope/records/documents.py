"""Documents in columns: the form in which text moves between stages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscope.records.ragged import offsets_of, places_of, rows_at

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Documents:
    """Some documents of whole or part users, in user order; n documents, w words."""

    users: IntArray
    """[n] the user's number; not decreasing."""
    numbers: LongArray
    """[n] the document's number, unique in the corpus."""
    offsets: LongArray
    """[n + 1] document i holds words offsets[i] to offsets[i + 1]."""
    ids: IntArray
    """[w] lexicon ids."""
    texts: Sequence[str] | None = None
    """[n] the original text, for models with a tokenizer of their own."""

    def __len__(self) -> int:
        return len(self.users)

    def words_of(self, index: int) -> IntArray:
        """The lexicon ids of document `index`."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def lengths(self) -> LongArray:
        """[n] the number of words of each document."""
        return np.diff(self.offsets)

    def pieces(self, words: int) -> Iterator["Documents"]:
        """Cut into runs of whole documents of about `words` words each (at least one document)."""
        start = 0
        while start < len(self):
            limit = self.offsets[start] + words
            stop = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            stop = max(stop, start + 1)
            yield self.part(start, stop)
            start = stop

    def part(self, start: int, stop: int) -> "Documents":
        """Documents `start` to `stop`, sharing memory with this."""
        low, high = self.offsets[start], self.offsets[stop]
        return Documents(
            self.users[start:stop],
            self.numbers[start:stop],
            self.offsets[start : stop + 1] - low,
            self.ids[low:high],
            None if self.texts is None else self.texts[start:stop],
        )

    def take(self, rows: LongArray) -> "Documents":
        """The documents at `rows`, in that order."""
        return Documents(
            self.users[rows],
            self.numbers[rows],
            offsets_of(self.lengths()[rows]),
            rows_at(self.ids, self.offsets[rows], self.lengths()[rows]),
            None if self.texts is None else [self.texts[row] for row in rows.tolist()],
        )

    def cut(self, lengths: LongArray) -> "Documents":
        """The first `lengths` [n] words of each document, without their texts."""
        words = rows_at(self.ids, self.offsets[:-1], lengths)
        return Documents(self.users, self.numbers, offsets_of(lengths), words)

    def places(self, rows: LongArray) -> LongArray:
        """Where the words of these documents are among all words."""
        return places_of(self.offsets[rows], self.lengths()[rows])

    @staticmethod
    def of(rows: Sequence[tuple[int, Sequence[int]]]) -> "Documents":
        """Documents from (user, ids) pairs, numbered from 0."""
        lengths = np.array([len(ids) for _, ids in rows], np.int64)
        flat = [id for _, ids in rows for id in ids]
        return Documents(
            np.array([user for user, _ in rows], np.int32),
            np.arange(len(rows), dtype=np.int64),
            offsets_of(lengths),
            np.array(flat, np.int32),
        )


@dataclass(frozen=True)
class Scores:
    """What a model says of each word of some `Documents`, in the same order; w words."""

    rank: IntArray
    """[w] rank of the word (design, section 3) where it is below k, else k: not in the top k."""
    log_prob: FloatArray
    """[w] natural logarithm of the word's probability; NaN where it was not computed."""
    top_log_prob: FloatArray
    """[w] the same for the model's top entry; NaN where it was not computed."""
    near_tie: BoolArray
    """[w] the decision rank < k was within float noise before it was settled in float64."""

    @staticmethod
    def none() -> "Scores":
        """Of no words."""
        numbers = np.zeros(0, np.float32)
        return Scores(np.zeros(0, np.int32), numbers, numbers, np.zeros(0, np.bool_))
