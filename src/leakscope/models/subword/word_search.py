"""The most probable next words of a sub-word model, by a search over tokens.

The log-probability of a word is the one that `score` gives it where the document goes on so: the
sum over its tokens, white space before it included, each given the true tokens before it. So the
beginning of a word is never less probable than the word, and only *whole* words count: those that
the most probable next token does not make longer; the beginning of a character directly behind a
word is taken to do so. A word that can be written in several ways, as behind a space or a newline,
counts once, with the most probable of them. Ways of cutting a text into tokens that the tokenizer
would not take are left out, and so are words whose tokens would change those of the prefix.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from leakscope.corpus.words import spans, words
from leakscope.models.interface import Continuations, NextWords, Prefix
from leakscope.models.subword.token_spelling import Entries
from leakscope.models.subword.word_tokens import WordTokenizer

BRANCHES = 32
"""Tokens that are tried behind each other, and four more for each word that is asked for."""
LOOKS = 32
"""Times that the model is asked after one prefix, at most, and eight more for each word."""
AT_ONCE = 4
"""Of these, for one prefix at a time."""
PREFIXES = 64
"""Prefixes at a time: the model's states after each of them are in memory."""
NEAR_WORDS, NEAR_TOKENS = 3, 8
"""So many of the prefix's last words and tokens are looked at: farther ones do not change."""
APOSTROPHES = "'’"


class TokenModel(Protocol):
    """What the search asks of a model."""

    @property
    def tokenizer(self) -> WordTokenizer:
        """Its tokenizer."""
        ...

    @property
    def entries(self) -> Entries:
        """What it chooses from."""
        ...

    def begin_tokens(self, prefixes: Sequence[Sequence[int]]) -> Continuations:
        """Read prefixes of tokens."""
        ...


@dataclass(frozen=True, order=True)
class _Node:
    """Tokens behind a prefix, the more probable ones first."""

    surprise: float
    """-log p of the tokens."""
    tokens: tuple[int, ...]
    """By their ids."""
    entry: int = field(compare=False)
    """The last of them, by its entry."""
    top: float = field(compare=False)
    """log p of the top entries instead."""
    tail: str = field(compare=False)
    """What the tokens add to the prefix's text."""
    word: str | None = field(compare=False)
    """The word that they spell; None: not yet one."""
    parent: Continuations = field(compare=False)
    row: int = field(compare=False)


class _Search:
    """The search after one prefix."""

    def __init__(self, text: str, ids: Sequence[int], typed: Sequence[int], count: int) -> None:
        self.text, self.ids, self.near, self.count = text, ids, list(typed[-NEAR_TOKENS:]), count
        places = spans(text)[-NEAR_WORDS:]
        self._before = text[places[0][0] :] if places else ""
        self._words = len(places)
        self.open: list[_Node] = []
        self.found: dict[str, _Node] = {}
        self.lost = np.inf
        """The least surprise of what was not looked at."""
        self._looks = LOOKS + 8 * count

    def limit(self) -> float:
        """What is more surprising than this does not matter."""
        known = sorted(node.surprise for node in self.found.values())
        return known[self.count - 1] if len(known) >= self.count else np.inf

    def due(self) -> list[_Node]:
        """The next nodes to look behind."""
        chosen: list[_Node] = []
        while self.open and self.open[0].surprise < self.limit() and len(chosen) < AT_ONCE:
            if self._looks == 0:
                self.lost = min(self.lost, self.open[0].surprise)
                return chosen
            self._looks -= 1
            chosen.append(heapq.heappop(self.open))
        return chosen

    def new_words(self, tail: str) -> list[str] | None:
        """The words that `tail` adds; None if it changes those of the prefix."""
        old, new = words(self._before), words(self._before + tail)
        return new[self._words :] if new[: self._words] == old else None

    def take(self, node: _Node) -> None:
        """Note a whole word, unless it is known in a more probable way."""
        if node.word is not None:
            known = self.found.get(node.word)
            if known is None or node.surprise < known.surprise:
                self.found[node.word] = node

    def answer(self) -> NextWords:
        """The words that were found."""
        best = sorted(self.found.values())[: self.count]
        left = min([self.lost, *(node.surprise for node in self.open[:1])])
        return NextWords(
            [str(node.word) for node in best],
            [node.tail for node in best],
            np.array([-node.surprise for node in best], np.float32),
            np.array([node.top for node in best], np.float32),
            exact=len(best) == self.count and left >= best[-1].surprise,
        )


def search_words(model: TokenModel, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
    """The `count` most probable whole words after each prefix, words joined by single spaces."""
    texts = [" ".join(prefix) for prefix in prefixes]
    found: list[NextWords] = []
    for start in range(0, len(texts), PREFIXES):
        found += _search(model, texts[start : start + PREFIXES], count)
    return found


def _search(model: TokenModel, texts: list[str], count: int) -> list[NextWords]:
    """The same after a few texts, all at once."""
    tokenizer = model.tokenizer
    ids = tokenizer.all_ids(texts)
    lead = len(tokenizer.lead)
    searches = [
        _Search(text, each, each[lead:], count) for text, each in zip(texts, ids, strict=True)
    ]
    branches = BRANCHES + 4 * count
    start = model.begin_tokens(ids)
    roots = [_Node(0.0, (), -1, 0.0, "", None, start, row) for row in range(len(searches))]
    _look_behind(model, list(zip(searches, roots, strict=True)), start, branches)
    while due := [(search, node) for search in searches for node in search.due()]:
        by_parent: dict[int, list[tuple[_Search, _Node]]] = {}
        for search, node in due:
            by_parent.setdefault(id(node.parent), []).append((search, node))
        for group in by_parent.values():
            rows = np.array([node.row for _, node in group], np.int64)
            entries = np.array([node.entry for _, node in group], np.int64)
            longer = group[0][1].parent.extended(rows, entries)
            _look_behind(model, group, longer, branches)
    return [search.answer() for search in searches]


def _look_behind(
    model: TokenModel, group: list[tuple[_Search, _Node]], after: Continuations, branches: int
) -> None:
    """Look at what comes after some nodes, one for each row of `after`: take their words if they
    are whole, and open what goes on.
    """
    entries, logs = after.top(branches)
    seen = entries.shape[1]
    tried = [(row, place) for row in range(len(group)) for place in range(seen)
             if entries[row, place] < after.words]  # fmt: skip
    ids = model.entries.ids
    tails = _tails(model, group, [(row, int(ids[entries[row, place]])) for row, place in tried])
    whole = [True] * len(group)
    children: list[tuple[_Search, _Node]] = []
    for (row, place), tail in zip(tried, tails, strict=True):
        search, node = group[row]
        new = search.new_words(tail)
        if place == 0 and new is not None and node.word is not None:
            added = tail.removeprefix(node.tail)
            whole[row] = new[:1] == [node.word] and not added.startswith("\ufffd")
        if new is not None and _goes_on(new, tail):
            entry = int(entries[row, place])
            word = new[0] if len(new) == 1 and not tail.endswith("\ufffd") else None
            child = _Node(
                node.surprise - float(logs[row, place]),
                (*node.tokens, int(ids[entry])),
                entry,
                node.top + float(logs[row, 0]),
                tail,
                word,
                after,
                row,
            )
            children.append((search, child))
    for row, (search, node) in enumerate(group):
        if seen < len(after.entries):
            search.lost = min(search.lost, node.surprise - float(logs[row, -1]))
        if whole[row]:
            search.take(node)
    for search, child in _as_tokenized(model.tokenizer, children):
        heapq.heappush(search.open, child)


def _goes_on(new: list[str], tail: str) -> bool:
    """Whether new words can be the beginning of one word: at most one, or one that an apostrophe
    or an unfinished character may join to what follows.
    """
    return len(new) < 2 or (len(new) == 2 and (new[1] in APOSTROPHES or tail.endswith("\ufffd")))


def _tails(
    model: TokenModel, group: list[tuple[_Search, _Node]], tried: list[tuple[int, int]]
) -> list[str]:
    """What the tokens of a node and one more add to the text before them."""
    decode = model.tokenizer.tokenizer.batch_decode
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    starts = decode([search.near for search, _ in group], **options)
    wholes = decode(
        [[*group[row][0].near, *group[row][1].tokens, token] for row, token in tried], **options
    )
    return [whole.removeprefix(starts[row]) for (row, _), whole in zip(tried, wholes, strict=True)]


def _as_tokenized(
    tokenizer: WordTokenizer, children: list[tuple[_Search, _Node]]
) -> list[tuple[_Search, _Node]]:
    """Those whose text the tokenizer would cut into just these tokens, or is unfinished."""
    again = tokenizer.all_ids([search.text + child.tail for search, child in children])
    return [
        (search, child)
        for (search, child), ids in zip(children, again, strict=True)
        if child.tail.endswith("\ufffd") or ids == [*search.ids, *child.tokens]
    ]
