"""The block list against a plain set, its rate against a count, and its file."""

import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.block_lists.block_list_file import MAGIC
from leakscope.records.errors import LeakscopeError

SALT = bytes(range(16))
words = st.sampled_from(["a", "b", "c", "東", "\ud800"])
ngrams = st.lists(st.lists(words, min_size=1, max_size=4), max_size=20)


def exact(items, **more):
    """So few false positives that none is ever met."""
    return BlockList.build(items, 1e-12, salt=SALT, **({"lowercase": False} | more))


@given(ngrams, st.lists(words, max_size=8))
def test_a_word_is_blocked_when_it_completes_an_ngram_of_the_set(items, text):
    made, plain = exact(items), {tuple(item) for item in items}
    assert made.count == len(plain)
    assert made.lengths == tuple(sorted({len(item) for item in plain}))
    expected = any(tuple(text[start:]) in plain for start in range(len(text)))
    assert made.blocks(text) == expected
    assert made.blocks(tuple(text)) == expected


@given(ngrams, st.lists(st.lists(words, max_size=6), min_size=1, max_size=5), st.integers(0, 5))
def test_many_positions_and_candidates_at_once_equal_one_by_one(items, texts, width):
    made = exact(items)
    names = ["a", "b", "c", "d"]
    candidates = np.tile(np.append(made.word_hashes(names), np.uint64(0)), (len(texts), 1))
    before = np.zeros((len(texts), width), np.uint64)
    for row, text in enumerate(texts):
        near = made.word_hashes(text)[::-1][:width]
        before[row, : len(near)] = near
    found = made.blocked(before, candidates)
    for row, text in enumerate(texts):
        seen = text[max(0, len(text) - width) :]
        assert found[row].tolist() == [*(made.blocks([*seen, name]) for name in names), False]


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_order_and_length_of_the_words_matter(length):
    made = exact([[f"w{i}" for i in range(length)]])
    assert made.blocks(["x", *(f"w{i}" for i in range(length))])
    assert not made.blocks([f"w{i}" for i in range(1, length)])
    if length > 1:
        assert not made.blocks([f"w{i}" for i in reversed(range(length))])


def test_a_lower_cased_list_knows_words_in_any_case():
    made = exact([["Secret", "Word"]], lowercase=True)
    assert made.blocks(["SECRET", "word"]) and made.count == 1
    assert not exact([["Secret", "Word"]]).blocks(["secret", "word"])


def test_nothing_blocked_blocks_nothing():
    made = exact([])
    assert made.count == made.longest == 0 and made.word_rate == made.expected_rate == 0
    assert not made.blocks(["a"]) and not made.blocks([])


@pytest.mark.parametrize("rate", [0.05, 0.01, 0.001])
@pytest.mark.parametrize("size", [700, 20_000])
def test_false_positives_match_the_stated_rate(rate, size):
    """Over a million random trigrams that are not in the list."""
    rng = np.random.default_rng(size)
    vocabulary = [f"w{i}" for i in range(1000)]
    inside = rng.integers(0, 1000, (size, 3))
    made = BlockList.build(
        [[vocabulary[i] for i in row] for row in inside], rate, salt=SALT, lowercase=False
    )
    outside = rng.integers(0, 1000, (1_200_000, 3))
    scale = np.array([1_000_000, 1000, 1])
    outside = outside[~np.isin(outside @ scale, inside @ scale)]
    assert len(outside) > 1_000_000
    hashes = made.word_hashes(vocabulary)[outside]
    found = made.blocked(hashes[:, [1, 0]], hashes[:, [2]]).mean()
    noise = 5 * np.sqrt(rate / len(outside))
    # Filters of the same size differ in how many bits are set; the fewer bits, the more.
    assert abs(found - made.expected_rate) < noise + 0.02 * rate
    assert abs(found - rate) < noise + 3 * rate / np.sqrt(size)
    hashes = made.word_hashes(vocabulary)[inside]
    assert made.blocked(hashes[:, [1, 0]], hashes[:, [2]]).all()


def test_the_rate_of_words_adds_up_over_lengths():
    made = BlockList.build([["a"], ["b", "c"]], 0.01, salt=SALT, lowercase=False)
    assert made.word_rate == pytest.approx(1 - 0.99**2)


def test_another_salt_gives_other_hashes():
    other = BlockList.build([["a"]], 0.01, salt=bytes(16), lowercase=False)
    assert other.word_hashes(["a"]).tolist() != exact([["a"]]).word_hashes(["a"]).tolist()


def test_bad_settings_are_refused():
    for rate in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(LeakscopeError, match="between 0 and 1"):
            BlockList.build([["a"]], rate, salt=SALT, lowercase=False)
    with pytest.raises(LeakscopeError, match="16 bytes"):
        BlockList.build([["a"]], 0.1, salt=b"short", lowercase=False)
    with pytest.raises(LeakscopeError, match="at least one word"):
        BlockList.build([[]], 0.1, salt=SALT, lowercase=False)


def test_a_list_comes_back_from_its_private_file(tmp_path):
    made = exact([["a", "b"], ["c"]], lowercase=True, corpus_digest="c0ffee")
    path = tmp_path / "names.block"
    made.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = BlockList.load(path)
    for name in ("size", "probes", "lengths", "count", "rate", "salt", "lowercase"):
        assert getattr(again, name) == getattr(made, name), name
    assert again.corpus_digest == "c0ffee" and np.array_equal(again.bits, made.bits)
    assert again.blocks(["A", "B"]) and again.blocks(["c"]) and not again.blocks(["b"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["names.block"]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "list"
    exact([["a", "b"], ["c"]]).save(path)
    good = path.read_bytes()
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(LeakscopeError):
            BlockList.load(path)
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(LeakscopeError):
            BlockList.load(path)
    path.write_bytes(good + b"x")
    with pytest.raises(LeakscopeError, match="damaged"):
        BlockList.load(path)


def test_other_files_are_told_from_block_lists(tmp_path):
    path = tmp_path / "list"
    with pytest.raises(LeakscopeError, match="no block list"):
        BlockList.load(path)
    path.write_bytes(b"PAR1 something else")
    with pytest.raises(LeakscopeError, match="not a block list"):
        BlockList.load(path)
    path.write_bytes(MAGIC)
    with pytest.raises(LeakscopeError, match="damaged"):
        BlockList.load(path)
    with pytest.raises(LeakscopeError, match="cannot be read"):
        BlockList.load(tmp_path)
