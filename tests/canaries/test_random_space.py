"""Random spaces: templates, sizes, uniform draws, and words by frequency and structure."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from leakscope.canaries.planting.word_choices import PHRASE, choices_of, frequent_words
from leakscope.canaries.random_space import Digits, make_space, placeholders
from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError


def test_a_template_becomes_pieces_and_words():
    template = "My card: {digits:4}, so {words:2} it"
    assert placeholders(template) == [-4, 0, 0]
    space = make_space(template, [Digits(4), ["aa", "bb"], ["cc"]], lowercase=True)
    rows = np.array([[42, 1, 0], [9999, 0, 0]])
    assert space.texts(rows) == ["My card: 0042, so bb cc it", "My card: 9999, so aa cc it"]
    for text, found in zip(space.texts(rows), space.words(rows), strict=True):
        assert found == words(text, lowercase=True)
    assert space.size == 20_000 and space.bits == pytest.approx(math.log2(20_000))


def test_digits_are_all_numbers_and_end():
    assert list(Digits(1)) == list("0123456789") and len(Digits(16)) == 10**16
    assert Digits(16)[42] == f"{42:016d}"


def test_everything_is_the_whole_space_once():
    lists = [["a", "b"], ["c", "d", "e"], ["f", "g"]]
    space = make_space("{words:3}", lists, lowercase=False)
    rows = space.everything()
    assert [tuple(found) for found in space.words(rows)] == list(itertools.product(*lists))
    assert [space.index_of(row) for row in rows] == list(range(12))


def test_draws_are_uniform_over_the_space():
    space = make_space("{words:2} {digits:1}", [["a", "b", "c"], ["d", "e"], Digits(1)],
                       lowercase=False)  # fmt: skip
    rows = space.draw(np.random.default_rng(5), 60_000)
    counts = np.bincount([space.index_of(row) for row in rows], minlength=60)
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize(
    "template",
    ["no place", "{words}x", "pre{digits:4}", "{digits}", "{digits:99}", "{words:0}", "{}", "{a:1}",
     "{words:5}{words:5}", "{words:2} {"],
)  # fmt: skip
def test_templates_that_are_refused(template):
    with pytest.raises(LeakscopeError):
        placeholders(template)


def test_frequent_words_are_words_of_letters_in_the_training_text():
    lexicon = Lexicon(
        [",", "the", "7", "don't", "a1", "--", "unseen"],
        np.array([90, 80, 70, 60, 50, 40, 0]),
        np.ones(7, np.int64),
    )
    assert frequent_words(lexicon, 10) == ["the", "don't", "a1"]
    assert frequent_words(lexicon, 2) == ["the", "don't"]


def test_classes_take_their_words_from_quintiles():
    vocabulary = [f"w{index}" for index in range(50)]  # most frequent first
    quintile = {word: index // 10 for index, word in enumerate(vocabulary)}

    def quintiles(frequency):
        found = choices_of(vocabulary, 5, frequency, phrase=False)
        assert all(len({quintile[word] for word in place}) == 1 for place in found)
        return [quintile[place[0]] for place in found]

    assert quintiles("all-low") == [4] * 5
    assert quintiles("low-to-high") == [4, 3, 2, 1, 0]
    assert quintiles("high-to-low") == [0, 1, 2, 3, 4]
    mixed = quintiles("mixed")
    assert sorted(mixed) == [0, 1, 2, 3, 4]
    steps = np.diff(mixed)
    assert (steps > 0).any() and (steps < 0).any()
    assert choices_of(vocabulary, 3, "any", phrase=False) == [vocabulary] * 3


def test_a_phrase_has_its_parts_of_speech_in_order():
    english = ["nurses", "drivers", "teachers", "nervously", "quickly", "trusted", "wanted"]
    english += ["incompetent", "famous", "of", "the", "and"]
    found = choices_of(english, 5, "any", phrase=True)
    assert found[0] == found[4] == ["drivers", "teachers"]
    assert found[1] == ["nervously", "quickly"] and found[2] == ["trusted", "wanted"]
    assert found[3] == ["incompetent", "famous"] and len(PHRASE) == 5
    with pytest.raises(LeakscopeError, match="larger --vocabulary"):
        choices_of(english[:3], 5, "any", phrase=True)
    with pytest.raises(LeakscopeError, match="words:5"):
        choices_of(english, 3, "any", phrase=True)
