"""From what a caller gives, settings objects and options by their names, to settings records."""

import difflib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, replace
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar, get_args, get_origin

from leakscope.commands.option_tables import command_options, named_options, parts_of
from leakscope.commands.options import Option, described, mentions_path
from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import placed, spelled

Record = TypeVar("Record")
NUMBERS = (int, float)
"""Several of these may come as one text, with commas between them."""


class Given:
    """What a command was given, checked by name and type."""

    def __init__(
        self, command: str, settings: Sequence[object], options: Mapping[str, Any]
    ) -> None:
        self._command = command
        self._objects: dict[type[Any], Any] = {
            type(each): each for each in settings if each is not None
        }
        records = [part.record() for part in parts_of(command)]
        for kind in self._objects:
            if kind not in records:
                raise LeakscopeError(
                    f"{kind.__name__} is not a settings class of {command}; it takes "
                    f"{', '.join(each.__name__ for each in records) or 'none'}."
                )
        self.options = checked(command, options)
        """The options that were given, by their names."""

    def make(self, record: type[Record], **more: Any) -> Record:
        """A record from what was given of it, and `more` of its fields."""
        values = more | self.fields_of(record)
        if record in self._objects:
            changed: Record = replace(self._objects[record], **values)
            return changed
        return record(**values)

    def has(self, name: str) -> bool:
        """Whether an option was given, by its name or with a settings object."""
        return name in self.options or any(
            type(each) is option.part.record()
            for option in command_options(self._command)
            for each in self._objects.values()
            if option.name == name
        )

    def fields_of(self, record: type[Any]) -> dict[str, Any]:
        """The fields of a record that were given as options."""
        return {
            option.field: _as_field(option, self.options[option.name])
            for option in command_options(self._command)
            if option.part.record() is record and option.name in self.options
        }

    def object_of(self, record: type[Record]) -> Record | None:
        """The settings object of this class, if one was given."""
        return self._objects.get(record)

    def as_plain(self) -> dict[str, Any]:
        """All that was given, by options' names, as data for a manifest or a config file."""
        found = {}
        for option in command_options(self._command):
            known = self._objects.get(option.part.record())
            if known is not None:
                value = getattr(known, option.field)
                if option.default is MISSING or value != option.default:
                    found[option.name] = value == option.flag if option.flag else value
        return {name: _plain(value) for name, value in (found | self.options).items()}


def checked(command: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command with values of the right types; unknown names are refused."""
    known = named_options(command)
    for name in options:
        if name not in known:
            refuse_unknown(command, name, known)
    return {
        name: of_type(known[name], value)
        for name, value in options.items()
        if value is not None or type(None) in get_args(known[name].type)
    }


def refuse_unknown(command: str, name: str, known: Iterable[str]) -> NoReturn:
    """Say that there is no such option, and which one was probably meant."""
    near = difflib.get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}?" if near else f"leakscope {command} --help lists all of them."
    raise LeakscopeError(f"{command} has no option {name}; {hint}")


class Typed(Protocol):
    """Whatever has a name and a type: an option, or an argument of the command line."""

    @property
    def name(self) -> str:
        """With underscores."""
        ...

    @property
    def type(self) -> Any:
        """What its values are."""
        ...


def of_type(wanted: Typed, value: Any) -> Any:
    """A value as its type wants it; refused in one sentence if it cannot be made so."""
    from pydantic import TypeAdapter, ValidationError

    kind, given = wanted.type, value
    try:
        if get_origin(kind) is dict and isinstance(value, str):
            given = json.loads(value, parse_constant=_no_number)
        elif get_origin(kind) is tuple and isinstance(value, str) and get_args(kind)[0] in NUMBERS:
            given = [part for part in value.split(",") if part] or [value]
        elif get_origin(kind) in (tuple, list) and not isinstance(value, list | tuple):
            given = [value]
        elif isinstance(value, os.PathLike) and str in (kind, *get_args(kind)):
            given = os.fspath(value)
        if mentions_path(kind):  # pathlib would take the slashes out of a URL
            given = _placed(given)
        return TypeAdapter(kind).validate_python(given)
    except (ValidationError, ValueError):
        spelled = "--" + wanted.name.replace("_", "-")
        raise LeakscopeError(f"{spelled} is {described(kind)}.") from None


def _as_field(option: Option, value: Any) -> Any:
    """What the field is set to: a flag stands for a value of its own."""
    if option.flag is None:
        return value
    return option.flag if value else _default_of(option)


def _default_of(option: Option) -> Any:
    return option.part.record().__dataclass_fields__[option.field].default


def _plain(value: Any) -> Any:
    if isinstance(value, Path | str):
        return spelled(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _placed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_placed(each) for each in value]
    return placed(value) if isinstance(value, str | os.PathLike) else value


def _no_number(said: str) -> None:
    raise ValueError(f"{said} is no number")
