"""Options, read from the fields of settings records: what Python, config files and the command line
call by the same names.
"""

import ast
import inspect
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Part:
    """A settings record whose fields are options of a command."""

    path: str
    """Where the record is, as module:Class; it is imported when it is first needed."""
    group: str
    """Under which heading help lists its options; a field may name another in its metadata."""
    only: tuple[str, ...] = ()
    """The fields that are options here; none named: all."""
    without: tuple[str, ...] = ()
    """Fields that are no options here."""
    preset: tuple[str, ...] = ()
    """Fields that a preset fills in where they are not given."""
    mitigation: str | None = None
    """The value of --mitigation that these options need."""

    def record(self) -> type[Any]:
        """The settings class."""
        found: type[Any] = _at(self.path)
        return found


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    name: str
    """With underscores, as in Python; with dashes on the command line."""
    type: Any
    default: Any
    """MISSING where there is none of its own."""
    help: str
    group: str
    part: Part
    field: str
    """The field of the record that it sets."""
    flag: Any = None
    """What a flag sets the field to; None: the value is given with the option."""
    separated: bool = False
    """Whether several values are given as one text, with commas between them."""
    preset: bool = False
    """Whether a preset fills it in where it is not given."""

    @property
    def spelled(self) -> str:
        """As it is given on the command line."""
        return "--" + self.name.replace("_", "-")


def options_of(part: Part) -> list[Option]:
    """The options that a record's fields make. A field's metadata may say `option`, its name (None:
    it is no option), `group`, `flag`, `separated`, and `choices`: where the names are that it may
    have, as module:NAME.
    """
    record = part.record()
    hints, helps = get_type_hints(record), field_docs(record)
    found = []
    for each in fields(record):
        told = each.metadata
        name = told.get("option", each.name)
        if name is None or each.name in part.without or (part.only and each.name not in part.only):
            continue
        default = each.default if each.default_factory is MISSING else each.default_factory()
        found.append(
            Option(
                name=name,
                type=_type(hints[each.name], told),
                default="flag" not in told and default,
                help=helps.get(each.name, ""),
                group=told.get("group", part.group),
                part=part,
                field=each.name,
                flag=told.get("flag"),
                separated=told.get("separated", False),
                preset=each.name in part.preset,
            )
        )
    return found


def _type(hint: Any, told: Mapping[str, Any]) -> Any:
    """What is given: a flag, one of some names, or what the field holds."""
    if "flag" in told:
        return bool
    if "choices" not in told:
        return hint
    names: Any = Literal.__getitem__(tuple(_at(told["choices"])))
    return names | None if type(None) in get_args(hint) else names


def _at(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def field_docs(record: type[Any]) -> dict[str, str]:
    """The docstrings under the fields of a class, each as one line."""
    (made,) = ast.parse(dedent(inspect.getsource(record))).body
    found, last = {}, None
    for node in made.body if isinstance(made, ast.ClassDef) else []:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif last is not None and isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                found[last] = " ".join(node.value.value.split())
            last = None
        else:
            last = None
    return found


OR_PATHS = ("model", "old", "new", "public", "stand_ins")
"""Arguments and options that are a path or something else, so that their type is text."""


def mentions_path(kind: Any) -> bool:
    """Whether values of a type are paths, or hold some."""
    return kind is Path or any(mentions_path(each) for each in get_args(kind))


def described(kind: Any) -> str:
    """A type in words, as in "--top-k is a whole number"."""
    if get_origin(kind) is Literal:
        return listed([str(each) for each in get_args(kind)])
    if get_origin(kind) in (Union, types.UnionType):
        return listed([described(each) for each in get_args(kind) if each is not type(None)])
    if get_origin(kind) is tuple:
        each = get_args(kind)[0]
        return "numbers, such as 3,5,7" if each is float else described(each)
    if get_origin(kind) is dict:
        return "a JSON object"
    words = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return words.get(kind, "a text")


def listed(words: list[str]) -> str:
    """Words as a sentence lists them: a, b or c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
