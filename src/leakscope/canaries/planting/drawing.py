"""Draw canaries: uniformly from their random space, no two alike, none that stands in the text."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from leakscope.canaries.random_space import RandomSpace
from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.records.documents import Documents, LongArray
from leakscope.records.errors import LeakscopeError

Hashes = npt.NDArray[np.uint64]
_PRIME = np.uint64(0x100000001B3)


def draw_distinct(
    space: RandomSpace,
    count: int,
    rng: np.random.Generator,
    corpus: Corpus,
    taken: Collection[tuple[str, ...]] = (),
) -> LongArray:
    """[count, places] uniform draws without replacement from what of the space is not `taken` (by
    its words) and does not stand in the corpus, in either split.
    """
    chosen: dict[tuple[int, ...], None] = {}
    refused: set[tuple[int, ...]] = set()
    while len(chosen) < count:
        if space.size - len(refused) < count:
            raise LeakscopeError(
                f"There are only {space.size - len(refused)} texts that {count} canaries could be; "
                f"plant fewer, or give a longer --template or a larger --vocabulary."
            )
        missing = count - len(chosen)
        if space.size <= 4 * count:  # hardly anything new would come
            rows = rng.permutation(space.everything())
        else:
            rows = space.draw(rng, missing + missing // 8 + 16)
        new = list(dict.fromkeys(map(tuple, rows.tolist())))
        new = [row for row in new if row not in chosen and row not in refused]
        found = _refused(space, _rows(new, space), corpus, taken)
        refused.update(row for row, bad in zip(new, found, strict=True) if bad)
        chosen.update(
            dict.fromkeys([row for row, bad in zip(new, found, strict=True) if not bad][:missing])
        )
    return _rows(list(chosen), space)


def _rows(found: Sequence[tuple[int, ...]], space: RandomSpace) -> LongArray:
    return np.array(found, np.int64).reshape(len(found), len(space.choices))


def _refused(
    space: RandomSpace, rows: LongArray, corpus: Corpus, taken: Collection[tuple[str, ...]]
) -> list[bool]:
    """Whether the words of each row are taken, or stand in a document one after the other."""
    if not len(rows):
        return []
    spelled = space.words(rows)
    possible = hashes_of_words(spelled, corpus.lexicon)
    asked = np.array([value for value in possible if value is not None], np.uint64)
    seen = _seen(asked, len(spelled[0]), _all_documents(corpus))
    return [
        tuple(words) in taken or (value is not None and value in seen)
        for words, value in zip(spelled, possible, strict=True)
    ]


def _all_documents(corpus: Corpus) -> Iterable[Documents]:
    for split in (TRAIN, VALIDATION):
        yield from corpus.documents(split)


def _seen(asked: Hashes, length: int, documents: Iterable[Documents]) -> set[int]:
    """Which of the hashes are of a window of so many words."""
    found: set[int] = set()
    if not len(asked):
        return found
    wanted = np.sort(asked)
    for chunk in documents:
        if len(chunk.ids) < length:
            continue
        windows = window_hashes(chunk.ids.astype(np.uint64), length)
        document = np.repeat(np.arange(len(chunk)), chunk.lengths())
        inside = document[: len(windows)] == document[length - 1 :]
        windows = windows[inside]
        at = np.minimum(np.searchsorted(wanted, windows), len(wanted) - 1)
        found.update(windows[wanted[at] == windows].tolist())
    return found


def window_hashes(ids: Hashes, length: int) -> Hashes:
    """[w - length + 1] a 64-bit hash of each window of so many ids. Two windows may have one hash,
    so that a canary is refused that does not stand there; never the other way round.
    """
    size = len(ids) - length + 1
    found = np.zeros(size, np.uint64)
    for place in range(length):
        found = (found ^ (ids[place : place + size] + np.uint64(1))) * _PRIME
        found ^= found >> np.uint64(29)
    return found


def hashes_of_words(spelled: Sequence[Sequence[str]], lexicon: Lexicon) -> list[int | None]:
    """The hash of each list of words; None where the lexicon lacks a word, so that it stands in no
    document.
    """
    found: list[int | None] = []
    for words in spelled:
        ids = [lexicon.ids.get(word) for word in words]
        if None in ids:
            found.append(None)
        else:
            found.append(int(window_hashes(np.array(ids, np.uint64), len(words))[0]))
    return found
