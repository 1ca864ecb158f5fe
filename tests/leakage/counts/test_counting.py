"""Counting against brute force, and against a dictionary of all that stands in the text."""

import time
from collections import Counter as Tally
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.counts import counting
from leakscope.leakage.counts import trie_kernels as kernels
from leakscope.leakage.counts.counting import Counter, count
from leakscope.leakage.counts.suffix_links import SHALLOW, SuffixLinks
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents
from leakscope.records.ragged import offsets_of

words = st.integers(0, 2)
texts = st.lists(st.tuples(st.integers(0, 3), st.lists(words, max_size=15)), max_size=8)
sequences = st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=12)


def flat(lists):
    lengths = np.array([len(item) for item in lists], np.int64)
    return np.array([word for item in lists for word in item], np.int32), offsets_of(lengths)


def matches(text, sequence):
    width = len(sequence)
    return sum(text[i : i + width] == sequence for i in range(len(text) - width + 1))


def brute_force(corpus, sequence):
    found = [(user, matches(text, sequence)) for user, text in corpus]
    return sum(n for _, n in found), len({user for user, n in found if n})


def dictionaries(corpus):
    """Occurrences and owners of everything that stands in the text."""
    total, owners = Tally(), defaultdict(set)
    for user, text in corpus:
        for begin in range(len(text)):
            for end in range(begin + 1, len(text) + 1):
                total[tuple(text[begin:end])] += 1
                owners[tuple(text[begin:end])].add(user)
    return total, owners


def assert_equal_to_dictionaries(found, trie, corpus):
    total, owners = dictionaries(corpus)
    for node in range(1, trie.nodes):
        key = tuple(trie.sequence(node))
        mine = int(found.total[node]), int(found.users[node])
        assert mine == (total[key], len(owners[key]))
    assert found.total[0] == found.users[0] == 0


def trie_of(items, lexicon=3):
    trie = Trie.empty(lexicon)
    return trie, trie.insert(*flat(items))


@given(texts, sequences, st.integers(1, 4), st.integers(1, 3))
def test_counts_equal_brute_force(corpus, items, parts, threads):
    corpus = sorted(corpus, key=lambda row: row[0])
    trie, nodes = trie_of(items)
    shards = [[row for row in corpus if row[0] % parts == part] for part in range(parts)]
    found = count(trie, [[Documents.of(shard)] for shard in shards], threads)
    for node, sequence in zip(nodes, items, strict=True):
        expected = brute_force(corpus, sequence)
        assert (int(found.total[node]), int(found.users[node])) == expected


@st.composite
def overlapping(draw):
    """Texts of few words, and sequences cut out of them, so that long ones end with one another."""
    alphabet = st.integers(0, draw(st.integers(0, 2)))
    phrase = draw(st.lists(alphabet, min_size=1, max_size=4))
    text = st.lists(alphabet, max_size=25) | st.integers(1, 8).map(lambda n: phrase * n)
    rows = draw(st.lists(st.tuples(st.integers(0, 3), text), min_size=1, max_size=7))
    corpus = sorted(rows, key=lambda row: row[0])
    cuts = []
    for _ in range(draw(st.integers(1, 10))):
        source = draw(st.sampled_from([text for _, text in corpus])) + draw(st.lists(alphabet))
        low = draw(st.integers(0, len(source)))
        cuts.append(source[low : draw(st.integers(low, len(source)))] or [0])
    return corpus, cuts


@given(overlapping(), st.integers(1, 6), st.data())
def test_any_depth_of_links_counts_alike_and_users_continue_in_the_next_chunk(case, shallow, data):
    corpus, items = case
    trie, _ = trie_of(items)
    counter = Counter(trie, SuffixLinks.of(trie, shallow))
    rest = corpus
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        counter.add(Documents.of(rest[:size]))
        rest = rest[size:]
        so_far = corpus[: len(corpus) - len(rest)]
        assert_equal_to_dictionaries(counter.counts(), trie, so_far)


@given(overlapping(), st.integers(1, 3), st.integers(1, 3))
def test_deep_sequences_in_parts_and_threads(case, parts, threads):
    corpus, items = case
    corpus = [(user, text * 3) for user, text in corpus]
    trie, _ = trie_of([item * (1 + SHALLOW // len(item)) for item in items] + items)
    assert trie.deepest > SHALLOW
    shards = [[row for row in corpus if row[0] % parts == part] for part in range(parts)]
    chunks = [[Documents.of([row]) for row in shard] for shard in shards]
    assert_equal_to_dictionaries(count(trie, chunks, threads), trie, corpus)


@given(overlapping())
def test_visits_may_be_settled_at_any_time(case):
    corpus, items = case
    trie, _ = trie_of(items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "SETTLED_AT_ONCE", 1)
        counter = Counter(trie, SuffixLinks.of(trie, 1))
        for row in corpus:
            counter.add(Documents.of([row]))
    assert_equal_to_dictionaries(counter.counts(), trie, corpus)


def test_random_text_with_whole_documents_as_sequences():
    rng = np.random.default_rng(3)
    corpus = [(user // 3, rng.integers(0, 2, 60).tolist()) for user in range(60)]
    trie, _ = trie_of([text[low:] for _, text in corpus for low in (0, 1, 7, 30)], 2)
    for shallow in (2, SHALLOW):
        counter = Counter(trie, SuffixLinks.of(trie, shallow))
        for low in range(0, 60, 7):
            counter.add(Documents.of(corpus[low : low + 7]))
        assert_equal_to_dictionaries(counter.counts(), trie, corpus)


@pytest.mark.parametrize("words", [2, 30, 3000])
def test_long_texts_are_walked_in_blocks(words):
    """Documents and users begin and end anywhere within the blocks of a walk, and the table of many
    sequences is full enough for edges to meet in it.
    """
    rng = np.random.default_rng(words)
    lengths = np.append(rng.geometric(1 / 60, 300), [kernels.PLACES_AT_ONCE * 3, 0, 1])
    texts = [(rng.random(size) ** 2 * words).astype(int).tolist() for size in lengths]
    corpus = [(place // 2, text) for place, text in enumerate(texts)]
    items = [
        text[low : low + length]
        for _, text in corpus
        for low in rng.integers(0, len(text) + 1, 40).tolist()
        for length in (1, 2, 5)
    ]
    trie, _ = trie_of([item for item in items if item], words)
    assert_equal_to_windows(count(trie, [[Documents.of(corpus)]]), trie, corpus)


def assert_equal_to_windows(found, trie, corpus):
    """As above, for sequences of at most 5 words."""
    total, owners = Tally(), defaultdict(set)
    for user, text in corpus:
        for width in range(1, 6):
            for begin in range(len(text) - width + 1):
                total[tuple(text[begin : begin + width])] += 1
                owners[tuple(text[begin : begin + width])].add(user)
    spelled = [tuple(trie.sequence(node)) for node in range(1, trie.nodes)]
    assert found.total[1:].tolist() == [total[each] for each in spelled]
    assert found.users[1:].tolist() == [len(owners[each]) for each in spelled]


def test_all_users_with_the_same_text_and_long_repeats():
    corpus = [(user, [0] * 50) for user in range(20)]
    trie, nodes = trie_of([[0] * n for n in range(1, 51)], 1)
    found = count(trie, [[Documents.of(corpus)]])
    assert found.total[nodes].tolist() == [20 * (51 - n) for n in range(1, 51)]
    assert set(found.users[nodes].tolist()) == {20}


@pytest.mark.parametrize("phrase", [[0], [0, 1, 2, 3, 4, 5, 6]])
def test_repeated_words_take_linear_time(phrase):
    """A walk from each place would take 20,000 million steps, which is minutes."""
    size = 200_000
    text = np.resize(np.array(phrase, np.int32), size)
    trie = Trie.empty(7)
    trie.insert(text, np.array([0, size]))
    documents = Documents(
        np.array([0, 1], np.int32), np.arange(2), np.array([0, size, size + 100]),
        np.concatenate([text, text[:100]]),
    )  # fmt: skip
    begin = time.process_time()
    found = count(trie, [[documents]])
    assert time.process_time() - begin < 20
    lengths = np.arange(1, size + 1)  # node n is the text's first n words
    places = (size - lengths) // len(phrase) + 1
    again = np.where(lengths <= 100, (100 - lengths) // len(phrase) + 1, 0)
    assert found.total[1:].tolist() == (places + again).tolist()
    assert found.users[1:].tolist() == (1 + (lengths <= 100)).tolist()
