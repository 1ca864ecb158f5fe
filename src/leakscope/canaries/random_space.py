"""The random space of a canary: all texts that it could have been, each as likely as any other."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscope.corpus.words import words
from leakscope.records.canaries.canary_manifest import CanaryManifest, SpaceRecord
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError

_PLACEHOLDER = re.compile(r"\{(words|digits)(?::(\d+))?\}")
MOST_DIGITS = 18
MOST_WORDS = 64


@dataclass(frozen=True)
class Digits(Sequence[str]):
    """All numbers of so many digits, as texts; no list of them is made."""

    digits: int

    def __len__(self) -> int:
        return int(10**self.digits)

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise IndexError(index)  # which also ends iterating
        return f"{index:0{self.digits}d}"


@dataclass(frozen=True)
class RandomSpace:
    """Texts with random places. `pieces` and `columns` hold texts, and the numbers of random
    places where those stand.
    """

    pieces: tuple[str | int, ...]
    """What the text is joined from."""
    columns: tuple[str | int, ...]
    """Its words."""
    choices: tuple[Sequence[str], ...]
    """What each random place is filled from."""

    @property
    def size(self) -> int:
        """|R|."""
        return math.prod(len(each) for each in self.choices)

    @property
    def bits(self) -> float:
        """log2 |R|."""
        return sum(math.log2(len(each)) for each in self.choices)

    def draw(self, rng: np.random.Generator, count: int) -> LongArray:
        """[count, places] uniform draws, with replacement."""
        columns = [rng.integers(len(each), size=count) for each in self.choices]
        return np.stack(columns, 1).astype(np.int64)

    def everything(self) -> LongArray:
        """[|R|, places] the whole space, in lexicographic order."""
        sizes = [len(each) for each in self.choices]
        return np.stack(np.unravel_index(np.arange(self.size), sizes), 1).astype(np.int64)

    def index_of(self, row: LongArray) -> int:
        """Where `everything` has a row [places]."""
        sizes = [len(each) for each in self.choices]
        return int(np.ravel_multi_index(tuple(row.tolist()), sizes))

    def texts(self, rows: LongArray) -> list[str]:
        """The texts of rows [n, places]."""
        return [
            "".join(
                piece if isinstance(piece, str) else self.choices[piece][row[piece]]
                for piece in self.pieces
            )
            for row in rows.tolist()
        ]

    def words(self, rows: LongArray) -> list[list[str]]:
        """The words of rows [n, places]."""
        return [
            [
                column if isinstance(column, str) else self.choices[column][row[column]]
                for column in self.columns
            ]
            for row in rows.tolist()
        ]

    def only(self, kept: Sequence[LongArray]) -> "RandomSpace":
        """The space with some of the choices of each place, by their indices in rising order."""
        some = [
            [each[index] for index in chosen.tolist()] if len(chosen) < len(each) else each
            for each, chosen in zip(self.choices, kept, strict=True)
        ]
        return replace(self, choices=tuple(some))


def placeholders(template: str) -> list[int]:
    """What the random places of a template hold, from left to right: 0 for a word, minus n for a
    number of n digits. Raise unless each stands as a word of its own.
    """
    found: list[int] = []
    for match in _PLACEHOLDER.finditer(template):
        kind, count = match[1], int(match[2] or (5 if match[1] == "words" else 0))
        around = template[: match.start()][-1:] + template[match.end() :][:1]
        if any(char.isalnum() or char in "_'’{" for char in around):
            raise LeakscopeError("Put spaces around the {...} of --template.")
        if kind == "words" and not 1 <= count <= MOST_WORDS:
            raise LeakscopeError(f"{{words:n}} of --template has 1 to {MOST_WORDS} words.")
        if kind == "digits" and not 1 <= count <= MOST_DIGITS:
            raise LeakscopeError(
                f"{{digits:n}} of --template has 1 to {MOST_DIGITS} digits, as in {{digits:16}}."
            )
        found += [0] * count if kind == "words" else [-count]
    rest = _PLACEHOLDER.sub("", template)
    if not found or "{" in rest or "}" in rest:
        raise LeakscopeError(
            "--template needs random places, written {words:5} or {digits:16}, and no other braces."
        )
    return found


def make_space(template: str, choices: Sequence[Sequence[str]], *, lowercase: bool) -> RandomSpace:
    """The space of a template whose random places are filled from `choices`."""
    pieces: list[str | int] = []
    place = end = 0
    for match in _PLACEHOLDER.finditer(template):
        pieces.append(template[end : match.start()])
        several = int(match[2] or 5) if match[1] == "words" else 1
        for number in range(several):
            pieces += [" "] * (number > 0) + [place]
            place += 1
        end = match.end()
    pieces.append(template[end:])
    columns: list[str | int] = []
    for piece in pieces:
        columns += [piece] if isinstance(piece, int) else words(piece, lowercase=lowercase)
    return RandomSpace(
        tuple(piece for piece in pieces if piece != ""), tuple(columns), tuple(choices)
    )


def space_of(manifest: CanaryManifest, record: SpaceRecord) -> RandomSpace:
    """A space that a manifest tells of."""
    choices = [manifest.vocabularies[slot] if slot >= 0 else Digits(-slot) for slot in record.slots]
    if len(placeholders(record.template)) != len(choices):
        raise LeakscopeError("The manifest's template has not the places that it counts.")
    return make_space(record.template, choices, lowercase=manifest.lowercase)
