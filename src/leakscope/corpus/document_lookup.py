"""Single documents of a corpus, looked up by their numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.readers.rows import Origin
from leakscope.corpus.shard_origins import origin_names
from leakscope.corpus.split import ALL, TRAIN, VALIDATION
from leakscope.corpus.store import Corpus, Shard
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class FoundDocument:
    """A document and all that the corpus knows of it."""

    document: int
    user: int
    """The user's number."""
    split: str
    words: int
    characters: int
    file: str | None
    """The name of the file that it comes from; None: that is not known."""
    row: int | None
    """Which record of that file it is, counted from 1."""
    text: str | None
    """None unless it was asked for."""


def find_documents(corpus: Corpus, numbers: list[int], *, texts: bool) -> Iterator[FoundDocument]:
    """The documents with these numbers, in the order of the corpus; raise if there is no such."""
    held = corpus.counts(ALL).documents
    for number in numbers:
        if not 0 <= number < held:
            raise LeakscopeError(
                f"The corpus has no document {number}; its documents are 0 to {held - 1}."
            )
    asked = np.unique(np.array(numbers, np.int64))
    names = origin_names(corpus.manifest.origins)
    for shard in corpus.shards:
        first, last = shard.bounds.documents
        low, high = np.searchsorted(asked, [first, last + 1])
        if low < high:
            yield from _of_shard(shard, asked[low:high], names, texts=texts)


def origins_of(corpus: Corpus, numbers: list[int]) -> dict[int, Origin]:
    """Where documents come from, by number; those whose origin is not known are left out."""
    found = {}
    for shard in corpus.shards:
        first, last = shard.bounds.documents
        mine = [number for number in numbers if first <= number <= last]
        origins = shard.origins() if mine else None
        for number in mine:
            if origins is not None and (origin := origins.of(number)) is not None:
                found[number] = origin
    return found


def keys_of(corpus: Corpus, users: set[int]) -> dict[int, str]:
    """The keys of users, by number."""
    found = {}
    for shard in corpus.shards:
        first, last = shard.bounds.users
        if any(first <= user <= last for user in users):
            found.update({u: key for u, key in shard.user_keys().items() if u in users})
    return found


def _of_shard(
    shard: Shard, asked: LongArray, names: list[str], *, texts: bool
) -> Iterator[FoundDocument]:
    origins, found = shard.origins(), []
    for split in (TRAIN, VALIDATION):
        for part in shard.documents(split, texts=True):
            chosen = part.take(np.flatnonzero(np.isin(part.numbers, asked)))
            for index, text in enumerate(chosen.texts or ()):
                number = int(chosen.numbers[index])
                origin = origins.of(number)
                found.append(
                    FoundDocument(
                        document=number,
                        user=int(chosen.users[index]),
                        split=split,
                        words=len(chosen.words_of(index)),
                        characters=len(text),
                        file=None if origin is None else names[origin.input],
                        row=None if origin is None else origin.row,
                        text=text if texts else None,
                    )
                )
    yield from sorted(found, key=lambda each: each.document)
