"""The first step of `corpus clean`: drop the documents and users that action lists name."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.corpus.cleaning.clean_summary import DropListFile, ListedDrops
from leakscope.corpus.cleaning.steps import CleanDocument
from leakscope.corpus.split import ALL, TRAIN
from leakscope.corpus.store import Corpus
from leakscope.records.actions.action_list import DropList, read_drop_list
from leakscope.records.documents import BoolArray
from leakscope.records.errors import LeakscopeError


def read_lists(paths: Iterable[Path], corpus: Corpus) -> list[DropList]:
    """Action lists about this corpus; raise if one is about another, or names a document that the
    corpus does not have.
    """
    lists = [read_drop_list(path) for path in paths]
    held = corpus.counts(ALL).documents
    for each in lists:
        if each.corpus_digest != corpus.manifest.digest:
            raise LeakscopeError(
                f"{each.path} is about another corpus than {corpus.path}; clean the corpus that "
                f"the report was made on."
            )
        beyond = max(each.documents, default=-1)
        if beyond >= held:
            raise LeakscopeError(
                f"{each.path} drops document {beyond}, but the corpus has documents 0 to "
                f"{held - 1}; take that line out."
            )
    return lists


@dataclass(frozen=True)
class Listed:
    """What lists drop of a corpus."""

    gone: BoolArray
    """[n] for each document, by number, whether it or its user is dropped."""
    users: frozenset[int]
    """The users that lists name, by number."""


def listed_documents(corpus: Corpus, lists: list[DropList]) -> Listed:
    """What the lists drop. Raise if they name a user whom the corpus does not have, or leave
    nothing to train on.
    """
    gone = np.zeros(corpus.counts(ALL).documents, np.bool_)
    for each in lists:
        gone[sorted(each.documents)] = True
    asked = frozenset[int | str]().union(*(each.users for each in lists))
    met: set[int | str] = set()
    users: set[int] = set()
    for shard in corpus.shards if asked else ():
        keys = shard.user_keys()
        met |= asked & {*keys, *keys.values()}
        here = [user for user, key in keys.items() if user in asked or key in asked]
        users.update(here)
        for part in shard.documents(ALL) if here else ():
            gone[part.numbers[np.isin(part.users, here)]] = True
    for each in lists:
        if each.users - met:
            raise LeakscopeError(
                f"{each.path} drops a user whom the corpus does not have; take that line out."
            )
    if all(gone[part.numbers].all() for part in corpus.documents(TRAIN)):
        names = " and ".join(str(each.path) for each in lists)
        raise LeakscopeError(f"{names} would drop every training document; take lines out.")
    return Listed(gone, frozenset(users))


class DropListed:
    """Drops what the lists name, from both parts."""

    def __init__(self, corpus: Corpus, lists: list[DropList]) -> None:
        self._listed = listed_documents(corpus, lists)
        self._lists = lists
        self._named = frozenset[int]().union(*(each.documents for each in lists))
        self.start()

    @property
    def gone(self) -> BoolArray:
        """[n] for each document, by number, whether it is dropped."""
        return self._listed.gone

    def start(self) -> None:
        """A pass begins."""
        self._by_document = self._by_user = self._train = 0
        self._users: set[int] = set()

    def apply(self, document: CleanDocument) -> CleanDocument | None:
        """None for a document that is dropped."""
        if not self.gone[document.number]:
            return document
        named = document.number in self._named
        self._by_document += named
        self._by_user += not named
        self._train += document.split == TRAIN
        self._users.add(document.user)
        return None

    def summary(self) -> ListedDrops:
        """What was dropped."""
        return ListedDrops(
            lists=[DropListFile(name=each.path.name, digest=each.digest) for each in self._lists],
            named=self._by_document,
            of_named_users=self._by_user,
            named_users=len(self._listed.users),
            training=self._train,
            users=len(self._users),
            left=sum(each.left for each in self._lists),
        )
