"""Texts by number, against reading all documents."""

import numpy as np
import pytest

from leakscope.leakage.sequences import texts_by_number
from leakscope.leakage.sequences.texts_by_number import texts_numbered
from leakscope.records.errors import LeakscopeError

ROWS = [(f"user{n % 7}", f"document {n} says é and 中文 " * (n % 5 + 1)) for n in range(60)]


@pytest.fixture
def corpus(make_corpus):
    return make_corpus(ROWS)


def test_they_are_those_of_the_documents(corpus, monkeypatch):
    plain = {}
    for some in corpus.documents(texts=True):
        plain |= dict(zip(some.numbers.tolist(), some.texts, strict=True))
    chosen = np.array(sorted(plain)[3::4])
    found = dict(texts_numbered(corpus.shards, np.repeat(chosen, 2)))
    assert found == {number: plain[number] for number in chosen.tolist()}
    monkeypatch.setattr(texts_by_number, "LONG", 40)
    long = dict(texts_numbered(corpus.shards, chosen))
    assert {isinstance(text, memoryview) for text in long.values()} == {True, False}
    same = {
        number: text if isinstance(text, str) else bytes(text).decode()
        for number, text in long.items()
    }
    assert same == found


def test_one_that_is_not_there_is_an_error(corpus):
    last = corpus.shards[-1].bounds.documents[1]
    with pytest.raises(LeakscopeError, match="build the corpus again"):
        list(texts_numbered(corpus.shards, np.array([last, last + 1])))
