"""Find some documents of a corpus again by their numbers, many at a time."""

from collections.abc import Iterable, Iterator

import numpy as np

from leakscope.corpus.store import Shard, concatenate
from leakscope.records.documents import Documents, IntArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of, places_of

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


def shards_holding(shards: list[Shard], numbers: LongArray) -> list[Shard]:
    """The shards that may hold some documents, whose numbers rise."""
    low, high = int(numbers[0]), int(numbers[-1])
    return [
        shard
        for shard in shards
        if shard.bounds.documents[0] <= high and shard.bounds.documents[1] >= low
    ]


def documents_numbered(shards: list[Shard], numbers: LongArray, *, texts: bool) -> Documents:
    """The documents with these numbers (rising), each once."""

    def stream() -> Iterator[Documents]:
        for shard in shards_holding(shards, numbers):
            yield from shard.documents(texts=texts)

    return concatenate([some for some, _ in documents_holding(stream(), numbers)])


def words_at(
    corpus: Iterable[Documents], numbers: LongArray, starts: LongArray, lengths: LongArray
) -> tuple[LongArray, IntArray]:
    """The words of n places, in one pass: place i is in the document `numbers[i]`, begins at its
    word `starts[i]`, and has the words ids[offsets[i] : offsets[i + 1]], `lengths[i]` of them.
    Raise where a place is within no document.
    """
    offsets = offsets_of(lengths)
    ids = np.zeros(int(offsets[-1]), np.int32)
    order = np.argsort(numbers, kind="stable")
    wanted, done = numbers[order], 0
    for documents in corpus:
        low, high = np.searchsorted(wanted, [documents.numbers[0], documents.numbers[-1] + 1])
        here = order[low:high]
        at = np.searchsorted(documents.numbers, wanted[low:high])
        ends = starts[here] + lengths[here]
        if (
            (documents.numbers[at] != wanted[low:high]).any()
            or (starts[here] < 0).any()
            or (ends > documents.lengths()[at]).any()
        ):
            raise _nowhere()
        source = places_of(documents.offsets[at] + starts[here], lengths[here])
        ids[places_of(offsets[here], lengths[here])] = documents.ids[source]
        done += len(here)
    if done != len(numbers):
        raise _nowhere()
    return offsets, ids


def _nowhere() -> LeakscopeError:
    return LeakscopeError(
        "The run has an occurrence that is within no document of the corpus; give the corpus that "
        "the report was made on, or make the report again."
    )
