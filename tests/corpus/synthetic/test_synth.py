"""Settings, determinism, streaming and the shape of the synthetic corpus."""

from collections import Counter
from dataclasses import astuple
from itertools import islice, pairwise, product

import pytest

from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.grammar import LAYERS, link_phrases, pools
from leakscope.corpus.synthetic.people import person
from leakscope.corpus.synthetic.seeded_draws import scramble
from leakscope.corpus.synthetic.synth_settings import MAX_USERS, SynthSettings
from leakscope.corpus.synthetic.user_plan import LADDER
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError

SECRETS = {"address", "phone", "account", "position"}


@pytest.mark.parametrize("users", [20, 40])
def test_same_settings_same_corpus(users):
    settings = SynthSettings(users=users, seed=3)
    assert list(documents(settings)) == list(documents(SynthSettings(users=users, seed=3)))
    assert list(map(astuple, truth(settings))) == list(map(astuple, truth(settings)))


def test_another_seed_gives_other_text_and_other_secrets():
    one, other = SynthSettings(users=20, seed=1), SynthSettings(users=20, seed=2)
    said = [{row.text for row in documents(settings) if row.text} for settings in (one, other)]
    long = [{text for text in texts if len(text) > 80} for texts in said]
    assert len(long[0] & long[1]) < 0.01 * len(long[0])
    secret = [{item.text for item in truth(s) if item.kind in SECRETS} for s in (one, other)]
    assert not secret[0] & secret[1]


def test_users_come_one_after_the_other_with_distinct_ascii_keys():
    settings = SynthSettings(users=60, words_per_user=50)
    runs = [user for user, last in _runs(row.user for row in documents(settings)) if last]
    assert len(runs) == len(set(runs)) == settings.users
    assert all(user.isascii() for user in runs)


def _runs(users):
    """(user, True) for each change of the user."""
    before = None
    for user in users:
        yield user, user != before
        before = user


def test_default_size_vocabulary_and_scripts():
    settings = SynthSettings()
    texts = [row.text for row in documents(settings)]
    counts = Counter(word for text in texts for word in words(text))
    assert 54_000 <= counts.total() <= 66_000
    assert len(counts) < 1_500
    assert {"Zoë", "...", "!!"} <= counts.keys()
    assert any("\u4e00" <= word <= "\u9fff" for word in counts)
    mails = sum("\n" in text for text in texts if not text.startswith("Automatic"))
    assert 0.15 < mails / len(texts) < 0.4


@pytest.mark.parametrize("wanted", [60_000, 200_000])
def test_the_size_is_about_the_words_wanted(wanted):
    settings = SynthSettings(users=40, words=wanted)
    total = sum(len(words(row.text)) for row in documents(settings))
    assert abs(total / wanted - 1) < 0.1


@pytest.mark.parametrize("users", [40, 60_000])
def test_a_large_corpus_starts_at_once(users):
    settings = SynthSettings(users=users, words=100_000_000)
    assert len(list(islice(documents(settings), 50))) == 50
    assert len(list(islice(truth(settings), 20))) == 20


def test_the_ladder_is_covered_with_twenty_users():
    for seed in range(5):
        items = [t for t in truth(SynthSettings(users=20, seed=seed)) if t.kind in SECRETS]
        assert {item.repetitions[0] for item in items} == set(LADDER)
        assert {item.kind for item in items} == SECRETS


def test_names_are_distinct_beyond_the_lists():
    # Around the points where the lists are used up and generated surnames begin or end.
    indices = [*range(6_000), *range(MAX_USERS - 6_000, MAX_USERS)]
    assert len({person(0, index).name for index in indices}) == len(indices)


@pytest.mark.parametrize("size", [1, 2, 72, 1600, 4096])
def test_scramble_is_one_to_one(size):
    for seed in range(5):
        assert {scramble(seed, "x", i, size) for i in range(size)} == set(range(size))


def test_the_grammar_never_walks_through_the_layers():
    steps = {pair for a, b in pairwise(LAYERS) for pair in product(a, b)}
    general = [head for topic in (*pools().chat, *pools().mail) for head in topic]
    for text in (*general, *pools().tails):
        split = words(text)
        assert not steps & set(pairwise(split))
    for phrase in link_phrases():
        split = words(phrase)
        assert len(steps & set(pairwise(split))) == 1
    assert len(set(link_phrases())) == len(steps)


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 3},
        {"users": 8, "bots": 1},
        {"users": MAX_USERS + 1},
        {"words": 0},
        {"words_per_user": 0},
        {"bots": -1},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(LeakscopeError, match="must"):
        SynthSettings(**wrong)


@pytest.mark.parametrize(
    ("given", "users"),
    [
        ({}, 40),
        ({"words": 5_000}, 40),
        ({"words": 150_000}, 100),
        ({"words": 150_000, "words_per_user": 500}, 300),
        ({"words": 150_000, "users": 12}, 12),
    ],
)
def test_there_are_as_many_users_as_the_words_need(given, users):
    assert SynthSettings(**given).population == users
