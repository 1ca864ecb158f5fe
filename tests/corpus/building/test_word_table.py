"""Compiled splitting and numbering against the one definition of a word."""

import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakscope.corpus.building.word_kernels import LONGEST_LOWERED, count_words
from leakscope.corpus.building.word_table import WordTable, numbered_words
from leakscope.corpus.parts.character_classes import (
    JOINER,
    LETTER,
    MARK,
    ODD,
    RUN,
    SPACE,
    character_tables,
)
from leakscope.corpus.words import words
from plain_build import as_array

ODD_PIECES = [
    "Don't", "l’été", "'", "’", "''", "a'", "'a", "a''b", "a’'b", "_", "__a", "...", "?!",
    "e\u0301", "\u0301", "!\u0301", "\u200d", "a\u200db", "👩\u200d👧", "❤️", "東京", "タワー",
    "か\u3099", "हिन्दी", "한국어", "İstanbul", "ẞ", "straße", "ΣΑΣ", "ΟΔΟΣ", "Σ", "ǅ", "Ⱥ", "K",
    "ﬁ", "１２", "²", "½", "\x00", "\x1c", "\x85", "\xa0", "\u2028", "\ufeff", "\U00010400",
    "\U000e0101", "\ue000", "\uffff", " ", "\n", "\t", "0", "3.14", "a_b@example.org", "\u0345",
    "A\u0345Σ", "\U0001f1e9\U0001f1ea",
]  # fmt: skip
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
odd_text = st.lists(st.sampled_from(ODD_PIECES), max_size=25).map("".join)


def spelled(texts, *, lowercase):
    """The words of each text, by way of the table."""
    table = WordTable()
    ids, offsets = numbered_words(table, *as_array(texts), lowercase=lowercase)
    known = [word.decode() for word in table.words().to_pylist()]
    assert len(set(known)) == len(known) == len(table)
    return [[known[id] for id in ids[start:stop]] for start, stop in pairwise(offsets)]


@settings(max_examples=400)
@given(st.lists(any_text | odd_text, max_size=6), st.booleans())
@example(["", " ", "a"], True)
def test_words_are_those_of_the_definition(texts, lowercase):
    expected = [words(text, lowercase=lowercase) for text in texts]
    assert spelled(texts, lowercase=lowercase) == expected


@pytest.mark.parametrize("around", ["{}", "a{}b", "東{}", "{0}{0}", "A'{}", "!{}", "{}\u0301"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_every_character_of_unicode(around, lowercase):
    """In a few surroundings each; a document holds a thousand of them."""
    points = [p for p in range(sys.maxunicode + 1) if not 0xD800 <= p < 0xE000]
    pieces = [around.format(chr(point)) for point in points]
    texts = [" ".join(pieces[start : start + 1000]) for start in range(0, len(pieces), 1000)]
    if around != "{}":  # what nobody has assigned behaves like its neighbours
        texts = texts[:140] + texts[-2:] + texts[900:920]
    assert spelled(texts, lowercase=lowercase) == [words(t, lowercase=lowercase) for t in texts]


def test_long_words_and_many_types():
    texts = [
        "X" * (LONGEST_LOWERED + 1),
        "Y" * LONGEST_LOWERED + " Σ" * 3,
        "É" * 200_000,
        " ".join(f"w{number}" for number in range(30_000)),
        " ".join("ΑΣ" * number for number in range(1, 3000)),
        "x " * 50_000,
    ]
    for lowercase in (False, True):
        assert spelled(texts, lowercase=lowercase) == [words(t, lowercase=lowercase) for t in texts]


@given(st.lists(st.binary(min_size=1, max_size=12), max_size=300))
def test_words_are_told_apart_by_their_bytes_alone(given_words):
    table = WordTable()
    offsets = np.cumsum([0, *map(len, given_words)]).astype(np.int64)
    found = table.number(np.frombuffer(b"".join(given_words), np.uint8), offsets)
    numbers = {}
    assert found.tolist() == [numbers.setdefault(word, len(numbers)) for word in given_words]


def test_classes_are_those_of_the_patterns():
    classes, lower = character_tables()
    for char, kind in [("a", LETTER), ("_", LETTER), ("７", LETTER), ("東", 0), ("\u0301", MARK)]:
        assert classes[ord(char)] == kind
    assert (classes[0x200D], classes[0x85], classes[ord("!")]) == (JOINER, SPACE, RUN)
    assert not classes[0xD800:0xE000].any()
    assert {chr(p) for p in np.flatnonzero(lower == ODD)} == {"İ", "Σ"}
    assert all(bool(classes[p] & SPACE) == bool(re.match(r"\s", chr(p))) for p in range(0x3100))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.lists(st.integers(0, 5), max_size=8)))
)
def test_counts_are_plain_counts(documents):
    documents = sorted(documents, key=lambda each: each[0])
    ids = np.array([word for *_, said in documents for word in said], np.int32)
    offsets = np.cumsum([0, *(len(said) for *_, said in documents)]).astype(np.int64)
    counts, users, last = np.zeros(6, np.int64), np.zeros(6, np.int64), np.full(6, -1)
    owners = np.array([owner for owner, *_ in documents], np.int64)
    counted = np.array([training for _, training, _ in documents], np.bool_)
    count_words(ids, offsets, owners, counted, counts, users, last)
    training = [(owner, said) for owner, is_training, said in documents if is_training]
    for word in range(6):
        assert counts[word] == sum(said.count(word) for _, said in training)
        assert users[word] == len({owner for owner, said in training if word in said})
