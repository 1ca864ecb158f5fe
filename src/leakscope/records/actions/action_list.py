"""The file of `suggest --out`: a line says which corpus it is about, then comes a line per action.

It is JSON Lines, so that people can strike out actions with any editor before `corpus clean --drop`
takes it. Lines say more than is read here: why, and with what effect.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leakscope.records.artifacts import digest_of_file, write_text
from leakscope.records.errors import LeakscopeError

VERSION = 1
MOST_BYTES = 1 << 20
"""Of a line: far more than any action takes."""

Kind = Literal["document", "user", "copies"]
Line = TypeVar("Line", bound=BaseModel)


class ListHeader(BaseModel):
    """The first line."""

    model_config = ConfigDict(frozen=True, strict=True)

    leakscope_actions: int
    """The version of the format."""
    corpus_digest: str
    """Of the corpus whose documents and users are meant."""
    interface: str | None = None
    """What stood before the model when the report was made, see `Metrics.interface`."""


class ListedAction(BaseModel):
    """What a command needs of one of the other lines."""

    model_config = ConfigDict(frozen=True, strict=True)

    action: Literal["drop", "review"]
    """Commands drop; whatever is to be reviewed, they leave alone."""
    kind: Kind
    document: Annotated[int, Field(ge=0)] | None = None
    """The document's number in the corpus."""
    user: Annotated[int, Field(ge=0)] | str | None = None
    """The user's number in the corpus, or the key."""


@dataclass(frozen=True)
class DropList:
    """What a list says should be dropped."""

    path: Path
    digest: str
    """Of the file."""
    corpus_digest: str
    documents: frozenset[int]
    users: frozenset[int | str]
    """By number or by key."""
    left: int
    """Actions for people, which are none of a command's business."""


def write_action_list(
    path: Path,
    corpus_digest: str,
    actions: Iterable[tuple[str, Kind, Mapping[str, Any]]],
    interface: str | None = None,
) -> None:
    """Write a list: for each action, what to do (drop or review), with what, and all about it."""
    header = ListHeader(leakscope_actions=VERSION, corpus_digest=corpus_digest, interface=interface)
    rows: list[dict[str, Any]] = [header.model_dump(exclude_none=True)]
    rows += [{"action": action, "kind": kind, **told} for action, kind, told in actions]
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_drop_list(path: Path) -> DropList:
    """What a list drops. Lines that are blank are skipped; one that says nothing clear is an
    error.
    """
    if not path.is_file():
        raise LeakscopeError(f"{path} is not a file; name a list that leakscope suggest wrote.")
    documents: set[int] = set()
    users: set[int | str] = set()
    header, left = None, 0
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_BYTES + 1):
            number += 1
            if len(line) > MOST_BYTES:
                raise _unclear(path, number)
            if not line.strip():
                continue
            if header is None:
                header = _parsed(path, number, line, ListHeader)
                continue
            action = _parsed(path, number, line, ListedAction)
            if action.action != "drop":
                left += 1
            elif action.kind == "document" and action.document is not None:
                documents.add(action.document)
            elif action.kind == "user" and action.user is not None:
                users.add(action.user)
            else:
                raise _unclear(path, number)
    if header is None:
        raise LeakscopeError(f"{path} is empty; name a list that leakscope suggest wrote.")
    if header.leakscope_actions != VERSION:
        raise LeakscopeError(
            f"{path} has list format {header.leakscope_actions}, this version reads {VERSION}; "
            f"make it again by leakscope suggest."
        )
    if not documents and not users:
        raise LeakscopeError(f'{path} drops nothing: no line of it says "action": "drop".')
    return DropList(
        path,
        digest_of_file(path),
        header.corpus_digest,
        frozenset(documents),
        frozenset(users),
        left,
    )


def _parsed(path: Path, number: int, line: bytes, model: type[Line]) -> Line:
    try:
        return model.model_validate_json(line)
    except ValidationError:
        raise _unclear(path, number) from None


def _unclear(path: Path, number: int) -> LeakscopeError:
    return LeakscopeError(
        f"Line {number} of {path} is not one of an action list; take it out, or make the list "
        f"again by leakscope suggest."
    )
