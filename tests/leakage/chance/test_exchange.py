"""Which way chance errs where held-out documents are not like those of D, as docs/method.md says.
Where they are, a model without memory has no excess: test_decoys.py.
"""

import numpy as np
import pytest

from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.records.documents import Scores
from remembering import Remembering

WORDS = [first + second for first in "bdgkmnrt" for second in "aeiou"]
LOGS = np.log(np.float32([0.6, 0.2, 0.1, 0.1 / (len(WORDS) - 3)]))


class CommonPhrases:
    """A model of general language, which saw no document: three words go on after each."""

    needs_text = False

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.after = {word: rng.permutation(WORDS)[:3].tolist() for word in ["", *WORDS]}

    def reading(self, lexicon):
        self._lexicon = lexicon
        return self

    def knows(self, ids):
        return None

    def text(self, rng, length):
        """Words in its language, three in four of which it expects."""
        said = [""]
        for _ in range(length):
            usual = rng.choice(self.after[said[-1]], p=[0.6, 0.3, 0.1])
            said.append(str(usual if rng.random() < 0.75 else rng.choice(WORDS)))
        return said[1:]

    def score(self, documents, *, top_k, every_probability=False):
        ranks = []
        for index in range(len(documents)):
            words = self._lexicon.spell(documents.words_of(index))
            for before, word in zip(["", *words], words, strict=False):
                usual = self.after[before]
                ranks.append(usual.index(word) if word in usual else 3)
        rank = np.array(ranks, np.int32)
        return Scores(rank, LOGS[rank], LOGS[rank], np.zeros(len(rank), np.bool_))

    def log_probs(self, documents, wanted):
        return self.score(documents, top_k=3).log_prob[wanted]


def rows_in(language, documents=240):
    """Rows in a language, half of them held out by a draw."""
    rng = np.random.default_rng(1)
    splits = rng.permutation([TRAIN, VALIDATION] * (documents // 2)).tolist()
    return [(f"u{n % 12}", language.text(rng, 20), split) for n, split in enumerate(splits)]


@pytest.fixture(scope="module")
def speaker():
    return CommonPhrases(1)


@pytest.fixture(scope="module")
def alike(speaker):
    """Rows in the language of the model."""
    return rows_in(speaker)


@pytest.fixture(scope="module")
def foreign():
    """Rows in a language with other common phrases."""
    return rows_in(CommonPhrases(2))


def part(rows, split):
    return [row for row in rows if row[2] == split]


def test_held_out_text_that_is_less_like_it_makes_chance_too_low(report, speaker, alike, foreign):
    fair = report(alike, speaker, top_k=3)
    assert fair.excess_unique_low <= 0 <= fair.excess_unique_high and fair.confirmed_unique == 0
    drifted = report(part(alike, TRAIN) + part(foreign, VALIDATION), speaker, top_k=3)
    assert drifted.unique_sequences == fair.unique_sequences
    assert drifted.chance_unique < 0.5 * fair.chance_unique
    assert drifted.excess_unique_low > 0
    assert drifted.confirmed_unique > 0.5 * drifted.unique_sequences  # all of them wrongly


def test_held_out_text_that_is_more_like_it_makes_chance_too_high(report, speaker, alike, foreign):
    half = part(alike, TRAIN)[::2] + part(foreign, TRAIN)[1::2]
    metrics = report(half + part(alike, VALIDATION), speaker, top_k=3)
    assert metrics.chance_unique > 1.5 * metrics.unique_sequences
    assert metrics.excess_unique_high < 0 and metrics.confirmed_unique == 0


@pytest.fixture(scope="module")
def said_thrice(speaker):
    """(number of a user, words) of documents three times each: users repeat most of what they
    say.
    """
    rng = np.random.default_rng(1)
    texts = [(n % 12, speaker.text(rng, 20)) for n in range(80)]
    return [each for each in texts for _ in range(3)]


def held_out(said, mask):
    return [
        (f"u{user}", words, VALIDATION if held else TRAIN)
        for (user, words), held in zip(said, mask, strict=True)
    ]


def test_users_who_are_held_out_as_a_whole_answer_for_what_users_repeat(
    report, speaker, said_thrice
):
    drawn = np.random.default_rng(1).random(len(said_thrice)) < 0.5
    fair = report(held_out(said_thrice, drawn), speaker, top_k=3)
    assert fair.confirmed_unique == 0 and not any("without training" in n for n in fair.notices)
    assert fair.chance_maybe_memory > 10 and fair.unjudged_unique > 10
    assert any("which the model may know from other documents" in n for n in fair.notices)
    apart = report(held_out(said_thrice, [user % 2 for user, _ in said_thrice]), speaker, top_k=3)
    assert apart.excess_unique_low <= 0 <= apart.excess_unique_high
    assert apart.unique_sequences > apart.least_confirmable and apart.confirmed_unique == 0
    assert apart.chance_maybe_memory == 0
    assert any("100% of the held-out words are of users without" in n for n in apart.notices)


def test_a_sample_of_them_says_the_same_in_the_mean(report, speaker, said_thrice):
    """As those that it misses are missing, those that it has stand for them."""
    chances, inside = [], []
    for odd in range(8):
        rows = held_out(said_thrice, [user % 2 for user, _ in said_thrice])
        rows = [(f"{user} {odd}", *rest) for user, *rest in rows]  # other numbers, another draw
        some = report(rows, speaker, top_k=3, decoy_words=800)
        assert 400 < some.decoy_words < 1300 and some.confirmed_unique == 0
        chances.append(some.chance_unique)
        inside.append(some.excess_unique_low <= 0 <= some.excess_unique_high)
        unique = some.unique_sequences
    assert np.mean(chances) == pytest.approx(unique, rel=0.3)
    assert sum(inside) >= 7


@pytest.fixture(scope="module")
def known(alike):
    """Training documents that a model knows by heart."""
    return part(alike, TRAIN)[:40]


@pytest.fixture
def fair(report, speaker, alike, known):
    """Without copies in the held-out documents, it shows in all of them."""
    found = report(alike, Remembering(speaker, [words for _, words, _ in known]), top_k=3)
    assert found.confirmed_unique >= len(known) and found.chance_by_length.get(20, 0) < 3
    return found


def test_near_copies_in_held_out_documents_hide_memory(report, speaker, alike, known, fair):
    """Their last word is another one, which the model guesses: such a run is nowhere in D."""
    near = [(user, [*words[:-1], WORDS[0]], VALIDATION) for user, words, _ in known]
    told = Remembering(speaker, [words for _, words, _ in [*known, *near]])
    metrics = report(alike + near, told, top_k=3)
    assert metrics.unique_sequences == fair.unique_sequences
    assert metrics.chance_by_length[20] >= 0.5 * len(known)
    assert metrics.confirmed_unique == 0


def test_copies_of_a_users_own_documents_count_as_what_users_repeat(
    report, speaker, alike, known, fair
):
    copies = [(user, words, VALIDATION) for user, words, _ in known]
    metrics = report(
        alike + copies, Remembering(speaker, [words for _, words, _ in known]), top_k=3
    )
    assert metrics.decoys >= fair.decoys + len(known)
    assert metrics.chance_by_length[20] >= 0.25 * len(known)
    assert metrics.confirmed_unique >= len(known)  # which are said once: judged apart


def test_copies_of_another_users_documents_are_no_decoys(report, speaker, alike, known, fair):
    copies = [(f"not {user}", words, VALIDATION) for user, words, _ in known]
    metrics = report(
        alike + copies, Remembering(speaker, [words for _, words, _ in known]), top_k=3
    )
    assert metrics.decoys == fair.decoys and metrics.chance_unique < fair.chance_unique
    assert metrics.confirmed_unique >= len(known)
