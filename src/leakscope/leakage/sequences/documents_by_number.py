"""Find some documents of a corpus again by their numbers, many at a time."""

from collections.abc import Iterable, Iterator

import numpy as np

from leakscope.corpus.store import concatenate
from leakscope.records.documents import Documents, LongArray

PIECE_WORDS = 200_000  # gathered from as many chunks of the corpus as needed


def documents_holding(
    corpus: Iterable[Documents], numbers: LongArray
) -> Iterator[tuple[Documents, LongArray]]:
    """The documents with these numbers (rising), many at a time, each with the rows of `numbers`
    that ask for it. A number that no document has leaves nothing.
    """
    waiting: list[Documents] = []
    words, done = 0, 0
    for documents in corpus:
        low, high = np.searchsorted(numbers, [documents.numbers[0], documents.numbers[-1] + 1])
        if low == high:
            continue
        asked = np.unique(numbers[low:high])
        held = np.searchsorted(documents.numbers, asked)
        held = held[documents.numbers[held] == asked]
        waiting.append(documents.take(held))
        words += len(waiting[-1].ids)
        if words >= PIECE_WORDS:
            yield concatenate(waiting), np.arange(done, high)
            waiting, words, done = [], 0, int(high)
    if waiting:
        yield concatenate(waiting), np.arange(done, len(numbers))
