"""The known answers against a brute-force count over the words of every document."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.people import person
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import words

CASES = [
    SynthSettings(users=20, seed=0),
    SynthSettings(users=20, seed=1, words_per_user=1, bots=0),
    SynthSettings(users=60, seed=2, words_per_user=600, bots=3),
    SynthSettings(users=60, seed=3),
    SynthSettings(users=9, seed=4, words=30_000),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda s: f"{s.users} users, seed {s.seed}")
def case(request):
    """(settings, [(user, words of the document)], truth)."""
    settings = request.param
    split = [(row.user, words(row.text)) for row in documents(settings)]
    return settings, split, list(truth(settings))


def occurrences(part, whole):
    """How often the sequence `part` stands in `whole`, overlaps included."""
    return sum(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))


def test_owners_and_repetitions_are_exact(case):
    _, split, planted = case
    # Only documents that hold all of its words can hold a sequence: this saves time, no more.
    holding = defaultdict(set)
    for number, (_, document) in enumerate(split):
        for word in document:
            holding[word].add(number)
    for item in planted:
        found = Counter()
        for number in set.intersection(*(holding[word] for word in item.words)):
            user, document = split[number]
            times = occurrences(item.words, document)
            assert times <= 1, "at most once in a document"
            found[user] += times
        assert +found == dict(zip(item.owners, item.repetitions, strict=True))


def test_planted_items_are_distinct_and_split_from_their_text(case):
    _, _, planted = case
    assert all(item.words == words(item.text) for item in planted)
    sequences = [" ".join(item.words) for item in planted]
    assert len(set(sequences)) == len(sequences)


def test_the_prefix_names_the_owner_and_stands_before_the_item(case):
    settings, split, planted = case
    names = {}
    for index in range(settings.people):
        who = person(settings.seed, index)
        names[who.user] = words(who.name)
    for item in planted:
        if item.kind in {"address", "phone", "account", "position", "stitched"}:
            assert occurrences(names[item.owners[0]], item.prefix) == 1
        assert (item.kind == "bot") == (not item.prefix)
        for owner, times in zip(item.owners, item.repetitions, strict=True):
            stated = item.prefix + item.words
            assert times == sum(occurrences(stated, d) for user, d in split if user == owner)


def test_each_bigram_of_a_stitched_sequence_is_common(case):
    _, split, planted = case
    holders = defaultdict(list)
    for user, document in split:
        for bigram in set(pairwise(document)):
            holders[bigram].append(user)
    stitched = [item for item in planted if item.kind == "stitched"]
    assert stitched
    for item in stitched:
        assert 5 <= len(item.words) <= 6
        assert 3 <= item.repetitions[0] <= 10
        for bigram in pairwise(item.words):
            others = [user for user in holders[bigram] if user not in item.owners]
            assert len(others) >= 5
            assert len(set(others)) >= 3


def test_kinds_and_numbers_of_owners(case):
    settings, split, planted = case
    kinds = defaultdict(list)
    for item in planted:
        kinds[item.kind].append(item)
    assert len(kinds["bot"]) == settings.bots
    assert {len(item.owners) for item in kinds["shared"]} == {2, 3}
    assert all(min(item.repetitions) >= 3 for item in kinds["shared"])
    secrets = Counter(
        owner
        for kind in ("address", "phone", "account", "position")
        for item in kinds[kind]
        for owner in item.owners
    )
    assert len(secrets) == settings.people
    assert set(secrets.values()) <= {1, 2, 3}
    for item in kinds["bot"]:
        assert 200 <= item.repetitions[0] <= 600
        assert all(d == item.words for user, d in split if user in item.owners)
