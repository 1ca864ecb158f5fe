"""The one definition of a word."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus import words as module
from leakscope.corpus.words import spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't go, O'Neill!", ["Don't", "go", ",", "O'Neill", "!"]),
        ("l’été", ["l’été"]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("'quoted'", ["'", "quoted", "'"]),
        ("mail me: a_b@example.org", ["mail", "me", ":", "a_b", "@", "example", ".", "org"]),
        ("東京タワー is 高い。", ["東", "京", "タ", "ワ", "ー", "is", "高", "い", "。"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("cafe\u0301 हिन्दी", ["cafe\u0301", "हिन्दी"]),
        ("3.14 and 1,000", ["3", ".", "14", "and", "1", ",", "000"]),
        ("tabs\tand\u00a0spaces\n", ["tabs", "and", "spaces"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_examples(text, expected):
    assert words(text) == expected


def test_lowercase_is_per_word():
    assert words("Ärger IN Ḣell", lowercase=True) == ["ärger", "in", "ḣell"]


@given(st.text())
def test_words_cover_everything_but_white_space(text):
    assert "".join(words(text)) == re.sub(r"\s", "", text)
    assert [text[a:b] for a, b in spans(text)] == words(text)
    assert all(word and not re.search(r"\s", word) for word in words(text))


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_pattern_does_what_the_full_one_does(text):
    assert module._ascii_pattern().findall(text) == module._pattern().findall(text)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1))
def test_splitting_again_changes_nothing(pieces):
    once = words(" ".join(pieces))
    assert words(" ".join(once)) == once
