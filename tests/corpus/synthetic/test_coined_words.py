"""The long tail of coined words."""

from collections import Counter
from random import Random

import pytest

from leakscope.corpus.synthetic.coined_words import coined_sentence, coined_word
from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError


def test_every_number_has_a_word_of_its_own():
    found = {coined_word(index) for index in range(60_000)}
    assert len(found) == 60_000
    assert all(words(word) == [word] for word in list(found)[:1000])


def test_frequencies_fall_with_the_number():
    draw = Random(0)
    said = Counter(w for _ in range(20_000) for w in words(coined_sentence(draw, 10_000)))
    first, tenth, late = (said[coined_word(i)] for i in (0, 9, 999))
    assert first > 4 * tenth > 0 and tenth > 4 * late


def test_the_tail_makes_a_large_lexicon_and_plants_nothing_new():
    plain, tailed = (SynthSettings(users=60, words=200_000, coined=c) for c in (0, 20_000))
    lexicons = [{w for row in documents(s) for w in words(row.text)} for s in (plain, tailed)]
    assert len(lexicons[0]) < 2_000 and len(lexicons[1]) > 4_000
    assert list(truth(plain)) == list(truth(tailed))


def test_size_is_checked():
    with pytest.raises(LeakscopeError, match="coined"):
        SynthSettings(coined=-1)
