"""Standard normals from random words, exactly and fast: the ziggurat (Marsaglia and Tsang 2000,
with the disjoint bits of Doornik 2005).

The area under f(x) = exp(-x^2 / 2), x >= 0, lies in LAYERS pieces of equal area: rectangles that
reach from f(edge i) up to f(edge i+1), and at the bottom a rectangle with the tail beyond the last
edge. A word of 64 bits chooses a piece, and a place in it with 53 bits and a sign. Nearly always
that place is under the curve whatever its height, and the word is done. The others, 1.5%, need
more words: for a height, or for the tail, which has no end.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from leakscope.engine.compiled import compiled
from leakscope.records.documents import LongArray

LAYERS = 256
Words = Callable[[int], LongArray]
"""So many words of 64 random bits each."""
SPARE = 32
"""Values for each word that is drawn for those that need more than one."""
Doubles = npt.NDArray[np.float64]


def edges(layers: int) -> Doubles:
    """[layers + 1] the right ends of the pieces, falling: first that of a rectangle with the area
    of the lowest piece, then where the tail begins, at last 0.
    """
    low, high = 0.0, 40.0
    while (middle := (low + high) / 2) not in (low, high):
        # A tail that begins too early makes the pieces too large: they pass the top.
        low, high = (middle, high) if _height(middle, layers) > 1 else (low, middle)
    found = [_area(high) / _curve(high), high]
    for _ in range(layers - 2):
        found.append(_next(found[-1], _area(high)))
    return np.array([*found, 0.0])


def _curve(x: float) -> float:
    return math.exp(-x * x / 2)


def _area(tail: float) -> float:
    return tail * _curve(tail) + math.sqrt(math.pi / 2) * math.erfc(tail / math.sqrt(2))


def _next(edge: float, area: float) -> float:
    return math.sqrt(-2 * math.log(area / edge + _curve(edge)))


def _height(tail: float, layers: int) -> float:
    """Where the uppermost piece ends; infinite where one passes the top before."""
    edge, area = tail, _area(tail)
    for _ in range(layers - 2):
        if area / edge + _curve(edge) >= 1:
            return math.inf
        edge = _next(edge, area)
    return area / edge + _curve(edge)


_EDGES = edges(LAYERS)
_TAIL = float(_EDGES[1])
_CURVE = np.exp(-_EDGES * _EDGES / 2)
_SCALE = _EDGES[:-1] * 2.0**-52
# Nearer to 0 than this the curve is above the whole piece.
_SURE = (_EDGES[1:] / _EDGES[:-1] * 2.0**52).astype(np.int64)


def add_normals(values: npt.NDArray[np.floating], deviation: float, words: Words) -> None:
    """Add independent normals of this standard deviation to float32 or float64 values [n]; each
    sum is made in float64.
    """
    drawn = words(len(values))
    others = _add_sure(values, deviation, drawn, _SURE, _SCALE)
    done, word = 0, np.int64(0)
    while done < len(others):
        more = words(SPARE + len(values) // SPARE)  # enough, nearly always
        done, word = _add_others(
            values, deviation, drawn, others, more, done, word, _SURE, _SCALE, _CURVE
        )


@compiled()
def _add_sure(values, deviation, words, sure, scale):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add those that need one word: where the others are. Without a branch, since a processor
    that guesses one wrongly loses the time of several values.
    """
    others = np.empty(len(values) + 1, np.int64)
    found = 0
    for at in range(len(values)):
        word = words[at]
        piece = word & (LAYERS - 1)
        place = word >> 11
        done = abs(place) < sure[piece]
        values[at] += deviation * ((place + 0.5) * scale[piece]) if done else 0.0
        others[found] = at
        found += not done
    return others[:found].copy()


@compiled(inline="always")
def _uniform(word):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """In (0, 1), from 53 bits of a word."""
    return ((word >> 11) + 2.0**52) * 2.0**-53 + 2.0**-54


@compiled()
def _add_others(values, deviation, words, others, more, done, word, sure, scale, curve):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Go on at the value others[done], which is at `word` unless that is 0, until all are made or
    `more` words are used up: where to go on. What was drawn for a value so far is in its word, so
    nothing is lost in between.
    """
    used = 0
    for turn in range(done, len(others)):
        at = others[turn]
        if turn > done or word == 0:  # a word of 0 is sure, so nothing goes on at it
            word = words[at]
        while True:
            piece = word & (LAYERS - 1)
            place = word >> 11
            normal = (place + 0.5) * scale[piece]
            if abs(place) < sure[piece]:
                break
            if used + 2 > len(more):
                return turn, word
            if piece == 0:  # the tail (Marsaglia 1964)
                past = -math.log(_uniform(more[used])) / _TAIL
                height = -2 * math.log(_uniform(more[used + 1]))
                used += 2
                if height > past * past:
                    normal = math.copysign(_TAIL + past, normal)
                    break
                continue
            low, high = curve[piece], curve[piece + 1]
            height = low + _uniform(more[used]) * (high - low)
            used += 1
            if height < math.exp(-normal * normal / 2):
                break
            word = more[used]
            used += 1
        values[at] += deviation * normal
    return len(others), word
