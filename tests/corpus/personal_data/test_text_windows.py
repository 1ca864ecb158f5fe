"""Windows of a long text against the text as a whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.personal_data import words_found
from leakscope.corpus.personal_data.text_windows import windows
from leakscope.corpus.personal_data.words_found import kinds_shown
from leakscope.corpus.words import spans, words

PIECES = [*"ab1 '’-.\n中文é", "e\u0301", "\u200d", "don't ", "😀", "--", "   "]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)
PII = ["ann.lee@example.org", "+44 20 7946 0958", "4111 1111 1111 1111", "www.example.org/a?b=c"]


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 40), st.integers(0, 20))
def test_stretches_and_their_words_are_those_of_the_text(text, size, margin):
    found = list(windows(memoryview(text.encode()), size=size, margin=margin))
    assert "".join(each.text[each.start : each.stop] for each in found) == text
    said, at = [], 0
    for each in found:
        assert each.first_word == len(said)
        assert each.text[each.start :] == text[at : at + len(each.text) - each.start]
        assert each.start <= at and each.text[: each.start] == text[at - each.start : at]
        said += [each.text[first:last] for first, last in each.edges[: each.words]]
        at += each.stop - each.start
    assert said == words(text)


def plain(text, starts, stops):
    """[n] the kinds that runs of words show, by looking at every word of every finding."""
    from leakscope.corpus.personal_data.kinds import find_pii

    kinds = [set() for _ in starts]
    for finding in find_pii(text):
        for word, (first, last) in enumerate(spans(text)):
            if first < finding.end and last > finding.start:
                for run, (start, stop) in enumerate(zip(starts, stops, strict=True)):
                    if start <= word < stop:
                        kinds[run].add(finding.kind)
    return kinds


def shown(text, starts, stops, **options):
    kinds = [set() for _ in starts]
    for run, kind in kinds_shown(text, starts, stops, **options):
        kinds[run].add(kind)
    return kinds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1, 300, 2000])
def test_what_runs_of_words_show_is_the_same_in_windows(seed, size):
    rng = np.random.default_rng(seed)
    pieces = ["plain words", "中文", "don't", "at 12", "\n", "naïve 😀", "so", "it goes", *PII]
    text = " ".join(rng.choice(pieces, 250).tolist())
    count = len(spans(text))
    edges = np.sort(rng.choice(count, 120, replace=False))
    starts, stops = edges[::2].astype(np.int32), edges[1::2]
    wanted = plain(text, starts, stops)
    assert any(wanted) and not all(wanted)
    assert shown(text, starts, stops) == wanted
    assert shown(memoryview(text.encode()), starts, stops, size=size) == wanted


def test_windows_that_nobody_asks_about_are_not_searched(monkeypatch):
    text = ("word " * 20_000 + PII[0]).encode()
    read: list[int] = []
    monkeypatch.setattr(words_found, "find_pii", lambda said, **_: read.append(len(said)) or [])
    list(kinds_shown(memoryview(text), np.array([20_000]), np.array([20_001]), size=1000))
    assert 0 < len(read) < 0.25 * len(list(windows(memoryview(text), size=1000)))
    read.clear()
    list(kinds_shown(memoryview(text), np.array([]), np.array([]), size=1000))
    assert not read
