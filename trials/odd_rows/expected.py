"""What should become of a row, said from the documentation alone (README, "Your own text")."""

import math
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

MOST_CHARACTERS = 1_000_000
MOST_DIGITS = 4300
"""Of a JSON number; Python reads no longer ones."""


@dataclass(frozen=True)
class Document:
    """A row that is accepted, and as what."""

    user: str
    text: str


class Aside:
    """A row that is set aside and counted."""


class Either:
    """A row that may be accepted or set aside, but not be lost: the documentation does not say."""


Expected = Document | Aside | Either
ASIDE, EITHER = Aside(), Either()


def of_values(user: object, text: object) -> Expected:
    """No user, no text, invalid UTF-8 or too long: set aside. Numbers are users, NaN is none."""
    if isinstance(user, bool) and isinstance(text, str) and text.strip():
        return EITHER
    name = name_of(user)
    if name is None or not isinstance(text, str) or not text.strip():
        return ASIDE
    if len(text) > MOST_CHARACTERS or not (is_unicode(name) and is_unicode(text)):
        return ASIDE
    return Document(name, text)


def name_of(user: object) -> str | None:
    if isinstance(user, str):
        return user if user.strip() else None
    if isinstance(user, float) and (math.isnan(user) or user.is_integer()):
        return None if math.isnan(user) else str(int(user))
    if isinstance(user, int) and abs(user) >= 10**MOST_DIGITS:
        return None
    return str(user) if isinstance(user, int | float | Decimal | UUID) else None


def is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
