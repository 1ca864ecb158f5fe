"""Normals are what plain rejection under the curve gives, and are spread as they should be."""

import math
from itertools import repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from leakscope.training.dp.noise import ziggurat
from leakscope.training.dp.noise.ziggurat import LAYERS, add_normals, edges

EDGES = edges(LAYERS)


def normals(count, words, deviation=1.0):
    values = np.zeros(count)
    add_normals(values, deviation, words)
    return values


def curve(x):
    return math.exp(-x * x / 2)


def uniform(word):
    return ((word >> 11) + 2**52) / 2**53 + 2.0**-54


def obvious(words):
    """A place in a piece, until one is under the curve."""
    while True:
        word = int(words(1)[0])
        piece, part = word & (LAYERS - 1), ((word >> 11) + 0.5) / 2**52
        place = part * EDGES[piece]
        if abs(place) < EDGES[piece + 1]:
            return place
        if piece == 0:
            while True:
                past = -math.log(uniform(int(words(1)[0]))) / EDGES[1]
                if -2 * math.log(uniform(int(words(1)[0]))) > past * past:
                    return math.copysign(EDGES[1] + past, place)
        height = uniform(int(words(1)[0]))
        low, high = curve(EDGES[piece]), curve(EDGES[piece + 1])
        if low + height * (high - low) < curve(place):
            return place


class Stream:
    """The words that are given, then those of a seed."""

    def __init__(self, seed, *first):
        self._first, self._generator = list(first), np.random.Philox(seed)

    def __call__(self, count):
        given = [self._first.pop(0) for _ in range(min(count, len(self._first)))]
        rest = self._generator.random_raw(count - len(given)).view(np.int64)
        return np.concatenate([np.array(given, np.int64), rest])


@settings(max_examples=500)
@given(
    seed=st.integers(0, 2**32),
    piece=st.integers(0, LAYERS - 1),
    near=st.floats(1e-9, 1),
    negative=st.booleans(),
    above=st.booleans(),
    spare=st.sampled_from([2, ziggurat.SPARE]),
)
def test_one_normal_is_the_one_of_plain_rejection(seed, piece, near, negative, above, spare):
    # Half of the places are beyond the next edge, where more words are needed.
    inner = EDGES[piece + 1] / EDGES[piece] if above else 0.0
    part = int((inner + near * (1 - inner)) * (2**52 - 1))
    word = ((-part if negative else part) << 11) | piece
    fast, plain = Stream(seed, word), Stream(seed, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ziggurat, "SPARE", spare)  # with two at a time it stops at every turn
        found = normals(1, fast)[0]
    assert found == pytest.approx(obvious(plain), rel=1e-12, abs=1e-15)


def test_the_pieces_have_equal_areas_and_fill_the_curve():
    areas = EDGES[1:-1] * np.diff(np.exp(-(EDGES[1:] ** 2) / 2))
    tail = integrate.quad(curve, EDGES[1], 40, epsabs=1e-15)[0]
    bottom = EDGES[1] * curve(EDGES[1]) + tail
    np.testing.assert_allclose(areas, bottom, rtol=1e-11)
    assert EDGES[0] * curve(EDGES[1]) == pytest.approx(bottom, rel=1e-12)
    assert EDGES[1] == pytest.approx(3.6541528853610088, rel=1e-12)  # Marsaglia and Tsang 2000


def test_four_million_fall_into_their_shares():
    found = normals(4_000_000, Stream(1))
    # Two hundred cells of equal probability, then the far tails by themselves.
    cells = np.floor(stats.norm.cdf(found) * 200).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=200)).pvalue > 1e-4
    beyond = np.abs(found[np.abs(found) > EDGES[1]])
    share = math.erfc(EDGES[1] / math.sqrt(2))
    assert abs(len(beyond) - 4e6 * share) < 5 * math.sqrt(4e6 * share)
    tail = stats.truncnorm(EDGES[1], np.inf)
    assert stats.kstest(beyond, tail.cdf).pvalue > 1e-4
    assert np.mean(found[np.abs(found) > EDGES[1]] > 0) == pytest.approx(0.5, abs=0.1)


def beyond_the_next_edge(generator, piece):
    """A word whose place in the piece may be above the curve."""
    inner = EDGES[piece + 1] / EDGES[piece]
    part = int(generator.uniform(inner, 1) * 2**52)
    return int((part if generator.random() < 0.5 else -part) << 11 | piece)


@pytest.mark.parametrize("spare", [2, ziggurat.SPARE])
def test_a_word_that_was_drawn_again_is_kept_when_words_run_out(spare, monkeypatch):
    monkeypatch.setattr(ziggurat, "SPARE", spare)
    high = 2**63 - 1
    outer = [((2**52 - 1) << 11) | piece for piece in (7, 30, 100)]  # under no height
    for seed in range(50):
        words = outer[0], high, outer[1], high, outer[2], high, (seed << 52) | 40
        assert normals(1, Stream(seed, *words))[0] == obvious(Stream(seed, *words))


@pytest.mark.parametrize("pieces", [(0,), (1, 2, 3), range(LAYERS)])
def test_many_values_that_need_many_words(pieces):
    # Far more than are drawn at once, so it goes on in the middle, often in that of a value.
    generator = np.random.default_rng(9)
    words = [beyond_the_next_edge(generator, generator.choice(pieces)) for _ in range(20_000)]
    together = normals(len(words), Stream(1, *words))
    stream = Stream(2)
    alone = [obvious(Stream(int(stream(1)[0]) & 0xFFFF_FFFF, word)) for word in words]
    assert stats.ks_2samp(together, alone).pvalue > 1e-4
    assert len(np.unique(together)) == len(words)


def test_neither_sign_is_preferred():
    words = np.random.Philox(5).random_raw(1000).view(np.int64)
    mirrored = (~words & ~np.int64(LAYERS - 1)) | (words & (LAYERS - 1))
    one, other = (normals(1000, Stream(0, *some.tolist())) for some in (words, mirrored))
    piece = words & (LAYERS - 1)
    sure = np.abs(words >> 11) * 2.0**-52 * EDGES[piece] < EDGES[piece + 1] - 1e-9
    assert np.mean(sure) > 0.95
    np.testing.assert_array_equal(one[sure], -other[sure])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_they_are_added_with_their_deviation(kind):
    there = np.linspace(-3, 3, 5000).astype(kind)
    values = there.copy()
    add_normals(values, 0.25, Stream(4))
    expected = there.astype(np.float64) + 0.25 * normals(5000, Stream(4))
    np.testing.assert_array_equal(values, expected.astype(kind))


def test_none_and_few():
    assert normals(0, Stream(0)).shape == (0,)
    assert normals(3, lambda count: np.zeros(count, np.int64)).shape == (3,)


def test_no_word_makes_something_infinite():
    for word in (0, -1, 2**63 - 1, -(2**63)):
        # Such a word for a height or in the tail, after a place that needs it.
        for piece in (0, 1, LAYERS - 1):
            first = ((2**52 - 1) << 11) | piece
            words = iter([first, *repeat(word, 3)])
            later = Stream(3)

            def draw(count, words=words, later=later):
                drawn = [next(words, None) for _ in range(count)]
                drawn = [int(later(1)[0]) if word is None else word for word in drawn]
                return np.array(drawn, np.int64)

            assert np.isfinite(normals(1, draw)).all()
