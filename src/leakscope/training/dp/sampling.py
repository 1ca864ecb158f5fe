"""Poisson sampling: who takes part in a step of private training, and with which words.

Every user is drawn independently with the same probability, in every step anew; so the number of
users in a step is random and may be 0. That is the sampling that the accountant assumes: shuffled
or fixed batches would make its epsilon wrong.
"""

import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of, places_of, within_rows
from leakscope.records.splitmix import Unsigned
from leakscope.training.dp.privacy_units import Units, mixed


class UserSource(Protocol):
    """Where the randomness of the draw comes from."""

    def bits(self, count: int, step: int) -> npt.NDArray[np.uint64]:
        """[count] independent uniform 64-bit numbers for a step."""
        ...


class SystemUsers:
    """The draw by the operating system's randomness."""

    def bits(self, count: int, step: int) -> Unsigned:
        """See `UserSource`; the step's number is not used."""
        return np.frombuffer(os.urandom(8 * count), np.uint64)


class InsecureUsers:
    """The draw by a seed and the step's number: reproducible, hence predictable."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def bits(self, count: int, step: int) -> Unsigned:
        """See `UserSource`; the same for equal seeds, steps and counts."""
        key = np.random.SeedSequence([self._seed, step], spawn_key=(2,))
        drawn: Unsigned = np.random.Generator(np.random.Philox(key)).integers(
            0, 2**64, count, np.uint64
        )
        return drawn


@dataclass(frozen=True)
class Draw:
    """One step's users and their text; n users, p pieces. n may be 0."""

    units: LongArray
    """[n] the users (or documents) of the step, in increasing order, none twice."""
    offsets: LongArray
    """[n + 1] user i of the step gives pieces offsets[i] to offsets[i + 1]; at least one."""
    pieces: LongArray
    """[p] numbers of pieces of the training text."""
    sizes: LongArray
    """[p] how many predictions from the beginning of each piece are used: all, but for the last
    piece of a user who has more than the cap."""

    def __len__(self) -> int:
        return len(self.units)

    @property
    def words(self) -> LongArray:
        """[n] how many predictions each user gives."""
        found: LongArray = (
            np.add.reduceat(self.sizes, self.offsets[:-1]) if len(self) else self.units
        )
        return found

    def first(self, users: int) -> "Draw":
        """Only the first users."""
        return self.take(np.arange(users))

    def take(self, users: LongArray) -> "Draw":
        """Only these users of the step, given by their places in it."""
        counts = np.diff(self.offsets)[users]
        at = places_of(self.offsets[users], counts)
        return Draw(self.units[users], offsets_of(counts), self.pieces[at], self.sizes[at])


class PoissonSampler:
    """Draws the users of each step, and at most so many predictions from each."""

    def __init__(
        self, units: Units, rate: float, words_per_unit: int, *, seed: int, source: UserSource
    ) -> None:
        """`seed` only orders each user's own pieces and need not be secret; `source` draws the
        users.
        """
        if not 0 < rate <= 1:
            raise LeakscopeError("The sampling rate must be above 0 and at most 1.")
        if words_per_unit < 1:
            raise LeakscopeError("A user must give at least 1 word a step.")
        self._units, self._rate, self._words = units, rate, words_per_unit
        self._seed, self._source = seed, source

    @property
    def expected(self) -> float:
        """Expected number of users a step, the fixed denominator of the gradient; it depends on
        the settings alone and never on a draw.
        """
        return self._rate * len(self._units)

    def draw(self, step: int, rate: float | None = None) -> Draw:
        """The users of a step and their pieces. `rate`: that of this step alone."""
        return self.draw_of(self.choose(step, rate), step)

    def choose(self, step: int, rate: float | None = None) -> LongArray:
        """The numbers of the users of a step, increasing; the part that is random."""
        bits = self._source.bits(len(self._units), step)
        return np.flatnonzero(_included(bits, self._rate if rate is None else rate))

    def draw_of(self, chosen: LongArray, step: int) -> Draw:
        """At most the cap's predictions of each chosen user, from pieces in an order drawn for
        the seed, the user's own text and the step: nothing that another user has or is can change
        what a user gives, so that adding or removing a user changes one term of the sum only.
        """
        units = self._units
        counts = np.diff(units.offsets)[chosen]
        begins, nth = offsets_of(counts)[:-1], within_rows(counts)
        pieces = places_of(units.offsets[chosen], counts)
        owner = np.repeat(np.arange(len(chosen)), counts)
        order = np.lexsort((mixed(self._seed, step, units.keys[chosen][owner], nth), owner))
        pieces = pieces[order]  # owner stays as it is: sorted first by it
        sizes = units.sizes[pieces]
        before = offsets_of(sizes)[:-1]
        before = before - np.repeat(before[begins], counts)
        left = np.minimum(sizes, self._words - before)
        used = left > 0
        per_unit = np.bincount(owner[used], minlength=len(chosen))
        return Draw(chosen, offsets_of(per_unit), pieces[used], left[used])


def _included(bits: Unsigned, rate: float) -> BoolArray:
    if rate == 1:
        return np.ones(len(bits), np.bool_)
    return bits < np.uint64(int(rate * 2.0**64))


def user_source(insecure_seed: int | None) -> UserSource:
    """The operating system's randomness, unless an insecure seed is given."""
    return SystemUsers() if insecure_seed is None else InsecureUsers(insecure_seed)
