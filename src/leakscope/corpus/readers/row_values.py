"""Raw values to rows: which columns there must be, and what a user or a text may be."""

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, Row
from leakscope.records.errors import LeakscopeError

_NAMES = frozenset(
    ("user", "text", "author", "body", "id", "name", "nick", "date", "message", "content")
)


def require_columns(path: Path, present: Sequence[str], settings: InputSettings) -> None:
    """Raise unless the columns are there exactly once; the message names those that are there."""
    for column in wanted_columns(settings):
        if present.count(column) > 1:
            raise LeakscopeError(f'{path} has several columns "{column}": rename all but one.')
        if column not in present:
            # A table without a header has text where names should be, so names are shown only if
            # one of them proves that they are names.
            proven = _NAMES & {name.lower() for name in present}
            names = [n for n in present if proven and re.fullmatch(r"[\w.-]{1,40}", n)][:20]
            hidden = f"{len(present) - len(names)} not shown"
            there = ", ".join(names + [hidden] * (len(names) < len(present))) or "none"
            option = (
                "--split-column"
                if column == settings.split_column
                else "--user-column or --text-column"
            )
            raise LeakscopeError(
                f'{path} has no column "{column}" but {there}: name the right one with {option}.'
            )


def wanted_columns(settings: InputSettings) -> list[str]:
    """The columns that are read: the user's, the text's, and the split's if there is one."""
    found = [settings.user_column, settings.text_column]
    return found if settings.split_column is None else [*found, settings.split_column]


def row_of(user: object, text: object, *split: object) -> Row:
    """Make a row of raw values: numbers become user names, NaN is a null user. A split that is no
    text has no name.
    """
    found = _row(user, text)
    if not split:
        return found
    name = split[0].decode("ascii", "replace") if isinstance(split[0], bytes) else split[0]
    return found._replace(split=name if isinstance(name, str) else "")


def _row(user: object, text: object) -> Row:
    try:
        user, text = _strict(user), _strict(text)
    except UnicodeError:
        return Row(None, None, INVALID_UTF8)
    if isinstance(user, float) and user.is_integer():
        user = int(user)  # 1 and 1.0 are the same user
    if isinstance(user, int | float | Decimal | UUID):
        user = None if str(user).lower() == "nan" else str(user)
    if not isinstance(user, str | None) or not isinstance(text, str | None):
        return Row(None, None, MALFORMED)
    return Row(user, text)


def _strict(value: object) -> object:
    """Decode bytes as UTF-8 and refuse strings with lone surrogates; leave the rest as it is."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        value.encode()
    return value
