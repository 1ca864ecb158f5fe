"""Where canaries go: among a user's training documents, or as users of their own, at random."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from leakscope.canaries.planting.row_sources import RowSource, SourceRow
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus


class PlantedText(NamedTuple):
    """One row to plant."""

    canary: int
    user: str
    text: str


class PlantedRow(NamedTuple):
    """A row to plant, and a row of the same user if there is one."""

    text: PlantedText
    beside: SourceRow | None


@dataclass
class Placement:
    """What is planted where."""

    among: dict[tuple[str, int], list[PlantedText]] = field(default_factory=dict)
    """By user and gap: before that user's training document of that number, or after the last."""
    anywhere: dict[int, list[PlantedText]] = field(default_factory=dict)
    """By row of the input: before it, or after the last. For users without other rows."""


class Users(NamedTuple):
    """The users that canaries can be planted in."""

    keys: list[str]
    """Those who have training documents, in the order of the corpus."""
    documents: dict[str, int]
    """How many of them each has."""
    taken: set[str]
    """The keys of all users, also of those who are held out."""


def users_of(corpus: Corpus) -> Users:
    """The users of a corpus, and their training documents."""
    counts: dict[int, int] = defaultdict(int)
    named: dict[int, str] = {}
    for shard in corpus.shards:
        named |= shard.user_keys()
        for chunk in shard.documents(TRAIN):
            for user, count in zip(*np.unique(chunk.users, return_counts=True), strict=True):
                counts[int(user)] += int(count)
    keys = [named[user] for user in sorted(counts)]
    return Users(keys, {named[user]: n for user, n in counts.items()}, set(named.values()))


def place_among(
    texts: list[PlantedText], users: Users, rng: np.random.Generator
) -> dict[tuple[str, int], list[PlantedText]]:
    """Each text into one of its user's gaps, uniformly and independently; the order within a gap is
    that of a random permutation.
    """
    found: dict[tuple[str, int], list[PlantedText]] = defaultdict(list)
    for index in rng.permutation(len(texts)).tolist():
        text = texts[index]
        gap = int(rng.integers(users.documents[text.user] + 1))
        found[text.user, gap].append(text)
    return dict(found)


def place_anywhere(
    texts: list[PlantedText], rows: int, rng: np.random.Generator
) -> dict[int, list[PlantedText]]:
    """Each text before one of the rows, or after the last."""
    found: dict[int, list[PlantedText]] = defaultdict(list)
    for index in rng.permutation(len(texts)).tolist():
        found[int(rng.integers(rows + 1))].append(texts[index])
    return dict(found)


def merged(
    source: RowSource, placement: Placement, users: Users
) -> Iterator[SourceRow | PlantedRow]:
    """The rows of the source in their order, and the planted ones among them."""
    seen: dict[str, int] = defaultdict(int)
    number = 0
    for number, row in enumerate(source.rows(), 1):
        for text in placement.anywhere.get(number - 1, ()):
            yield PlantedRow(text, None)
        user = row.row.user
        if user is None or row.row.split != TRAIN or row.row.problem is not None:
            yield row
            continue
        for text in placement.among.get((user, seen[user]), ()):
            yield PlantedRow(text, row)
        yield row
        seen[user] += 1
        if seen[user] == users.documents[user]:
            for text in placement.among.get((user, seen[user]), ()):
                yield PlantedRow(text, row)
    for text in placement.anywhere.get(number, ()):
        yield PlantedRow(text, None)
