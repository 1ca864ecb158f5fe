"""The steps of `corpus clean`. Documents stream through them in corpus order.

A step may first `learn` from the documents as the steps before it leave them. Those steps
then run more than once, so `start` resets a step's counts at the beginning of every pass.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from leakscope.corpus.cleaning.clean_summary import (
    DuplicateDocuments,
    RareWords,
    Removed,
    RepeatedSentences,
    Scrubbed,
)
from leakscope.corpus.cleaning.sentences import Repeated, pieces, sentence_key
from leakscope.corpus.personal_data.kinds import KINDS, Finder, scrub
from leakscope.corpus.personal_data.placeholders import placeholder, put
from leakscope.corpus.readers.rows import Origin
from leakscope.corpus.split import TRAIN
from leakscope.corpus.words import spans, words

RARE = placeholder("rare")
# However few users have them: these stand for something, and give nothing away.
_STAY = frozenset([RARE, *map(placeholder, KINDS)])


class CleanDocument(NamedTuple):
    """A document between two steps: its user and number in the old corpus, its split, its text, and
    where it comes from.
    """

    user: int
    number: int
    split: str
    text: str
    origin: Origin | None = None


class Step(Protocol):
    """One change to the documents. It counts what it did."""

    def start(self) -> None:
        """A pass begins."""
        ...

    def apply(self, document: CleanDocument) -> CleanDocument | None:
        """The changed document; None to remove it."""
        ...


class Learner(Step, Protocol):
    """A step that must see all documents before it changes the first."""

    def learned(self, documents: Iterable[CleanDocument]) -> pa.RecordBatch:
        """What the step needs to know of all documents."""
        ...

    def recall(self, columns: dict[str, list[Any]]) -> None:
        """Know what was learned, by columns."""
        ...


class DropDocuments:
    """Removes the documents that were found to be duplicates."""

    def __init__(self, exact: dict[int, bool], near: dict[int, bool] | None) -> None:
        """Both say, by document number, whether the earlier copy belongs to another user."""
        self._exact, self._near = exact, near
        self._users: set[int] = set()

    def start(self) -> None:
        """A pass begins."""
        self._users.clear()

    def apply(self, document: CleanDocument) -> CleanDocument | None:
        """None for a duplicate."""
        if document.number in self._exact or document.number in (self._near or ()):
            self._users.add(document.user)
            return None
        return document

    def summary(self) -> DuplicateDocuments:
        """What was removed."""
        near = None if self._near is None else _removed(self._near)
        return DuplicateDocuments(exact=_removed(self._exact), near=near, users=len(self._users))


def _removed(others: dict[int, bool]) -> Removed:
    across = sum(others.values())
    return Removed(within=len(others) - across, across=across)


class DropSentences:
    """Removes training sentences that an earlier training document has."""

    def __init__(self, min_words: int, *, across_users: bool) -> None:
        self._min_words, self._across = min_words, across_users
        self._repeated = Repeated()
        self.start()

    def learned(self, documents: Iterable[CleanDocument]) -> pa.RecordBatch:
        """The sentences that occur more than once, by what `Repeated` knows them by."""
        for document in documents:
            if document.split == TRAIN:
                keys = (sentence_key(piece, self._min_words) for piece in pieces(document.text))
                self._repeated.add(key for key in keys if key is not None)
        return pa.record_batch({"sentence": pa.array(self._repeated.finish(), pa.uint64())})

    def recall(self, columns: dict[str, list[Any]]) -> None:
        """See `Learner`."""
        self._repeated.recall(columns["sentence"])

    def start(self) -> None:
        """A pass begins."""
        self._said: dict[bytes, int] = {}
        self._current = -1
        self._within = self._between = self._changed = self._emptied = 0
        self._users: set[int] = set()

    def apply(self, document: CleanDocument) -> CleanDocument | None:
        """The document without what was said before; None if nothing is left."""
        if document.split != TRAIN:
            return document
        if document.user != self._current:
            self._current = document.user
            if not self._across:
                self._said.clear()
        left, mine = [], set()
        found = pieces(document.text)
        for piece in found:
            key = sentence_key(piece, self._min_words)
            if key is None or key not in self._repeated:
                left.append(piece)
            elif (speaker := self._said.get(key)) is None:
                left.append(piece)
                mine.add(key)  # said now: a second time in this document is not "before"
            else:
                self._within += speaker == document.user
                self._between += speaker != document.user
        self._said.update(dict.fromkeys(mine, document.user))
        if len(left) == len(found):
            return document
        self._changed += 1
        self._users.add(document.user)
        text = "".join(left).rstrip()
        if not text.strip():
            self._emptied += 1
            return None
        return document._replace(text=text)

    def summary(self) -> RepeatedSentences:
        """What was removed."""
        return RepeatedSentences(
            removed=Removed(within=self._within, across=self._between),
            documents=self._changed,
            emptied=self._emptied,
            users=len(self._users),
        )


class Scrub:
    """Replaces e-mail addresses, phone numbers and the like by placeholders."""

    def __init__(
        self,
        kinds: tuple[str, ...],
        also: Finder | None = None,
        phone_region: str | None = None,
    ) -> None:
        self._kinds, self._also, self._phone_region = kinds, also, phone_region
        self.start()

    def start(self) -> None:
        """A pass begins."""
        self._counts: Counter[str] = Counter(dict.fromkeys(self._kinds, 0))
        self._changed = 0
        self._users: set[int] = set()

    def apply(self, document: CleanDocument) -> CleanDocument:
        """The scrubbed document."""
        text, counts = scrub(document.text, self._kinds, self._also, self._phone_region)
        if not counts:
            return document
        self._counts.update(counts)
        self._changed += 1
        self._users.add(document.user)
        return document._replace(text=text)

    def summary(self) -> Scrubbed:
        """What was replaced; a kind that was not found has a count of 0."""
        counts = dict(sorted(self._counts.items()))
        return Scrubbed(replaced=counts, documents=self._changed, users=len(self._users))


class ReplaceRare:
    """Replaces words that fewer than `min_users` users have in their training documents."""

    def __init__(self, min_users: int, *, lowercase: bool) -> None:
        self._least, self._lowercase = min_users, lowercase
        self._common: frozenset[str] = frozenset()
        self.start()

    def learned(self, documents: Iterable[CleanDocument]) -> pa.RecordBatch:
        """The words that enough users have; memory grows with the number of distinct words."""
        users: Counter[str] = Counter()
        last: dict[str, int] = {}
        for document in documents:
            if document.split == TRAIN:
                for word in words(document.text, lowercase=self._lowercase):
                    if last.get(word) != document.user:
                        last[word] = document.user
                        users[word] += 1
        common = [word for word, count in users.items() if count >= self._least]
        return pa.record_batch({"word": pa.array(common, pa.large_string())})

    def recall(self, columns: dict[str, list[Any]]) -> None:
        """See `Learner`."""
        self._common = frozenset(columns["word"])

    def start(self) -> None:
        """A pass begins."""
        self._replaced: set[str] = set()
        self._tokens = self._changed = 0
        self._users: set[int] = set()

    def apply(self, document: CleanDocument) -> CleanDocument:
        """The document with its rare words replaced; placeholders stay."""
        changes = []
        for start, end in spans(document.text):
            written = document.text[start:end]
            word = written.lower() if self._lowercase else written
            if word not in self._common and written not in _STAY:
                changes.append((start, end, RARE))
                self._replaced.add(word)
        if not changes:
            return document
        self._tokens += len(changes)
        self._changed += 1
        self._users.add(document.user)
        return document._replace(text=put(document.text, changes))

    def summary(self) -> RareWords:
        """What was replaced."""
        return RareWords(
            types=len(self._replaced),
            tokens=self._tokens,
            documents=self._changed,
            users=len(self._users),
        )
