"""A command as cyclopts sees it: its arguments, and the options that its settings records make, or
that only the command line has. Nothing is imported or assembled before the command is asked for.
"""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, get_origin

from cyclopts import Group, Parameter

from leakscope.cli.progress_bars import RESUMES, shown
from leakscope.commands.option_tables import named_options
from leakscope.commands.options import Option
from leakscope.engine.progress import Progress

OUTPUT, COMMON = "Output", "Common to all commands"


@dataclass(frozen=True)
class Argument:
    """What only the command line knows: an argument by its place, or an option of its own."""

    name: str
    type: Any
    help: str
    default: Any = inspect.Parameter.empty
    group: str = OUTPUT


CONFIG = Argument(
    "config",
    Path | None,
    "Take options from this TOML file: their names, at its top or in a table named after the "
    "command. What is given here wins. leakscope report also takes the manifest.json of a run, to "
    "make it again.",
    None,
    COMMON,
)
DRY_RUN = Argument(
    "dry_run", bool, "Say what would be done and what that would take, and do nothing else.", False
)
QUIET = Argument("quiet", bool, "Show no progress.", False, COMMON)


class Asked:
    """What was given to a command."""

    def __init__(self, own: dict[str, Argument], given: dict[str, Any]) -> None:
        self._own, self._given = own, given

    def __getitem__(self, name: str) -> Any:
        """The value of an argument, or of an option that only the command line has."""
        return self._given.get(name, self._own[name].default)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the settings records, those that were given."""
        return {name: value for name, value in self._given.items() if name not in self._own}

    def progress(self, when_interrupted: str = RESUMES) -> AbstractContextManager[Progress]:
        """Progress on standard error, unless it is to be quiet."""
        return shown(when_interrupted, quiet=self["quiet"])


class Command:
    """One command. Its help is the docstring of what it runs."""

    def __init__(
        self,
        name: str,
        run: Callable[[Asked], None],
        arguments: tuple[Argument, ...] = (),
        own: tuple[Argument, ...] = (),
    ) -> None:
        """`arguments` go by their places; `own` are options that no settings record has."""
        self.name, self._run = name, run
        self._arguments, self._own = arguments, (*own, QUIET, CONFIG)
        self.__doc__, self.__name__ = _paragraphs(inspect.getdoc(run) or ""), name
        self.__annotations__: dict[str, Any] = {}

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """Arguments, then options by groups, the command's output first."""
        options = named_options(self.name).values()
        titles = [OUTPUT, *dict.fromkeys(option.group for option in options), COMMON]
        groups = {title: Group(title, sort_key=place) for place, title in enumerate(titles)}
        own = {one.name: _own_option(one, groups) for one in self._own}
        found = {option.name: _option(option, groups) for option in options}
        return inspect.Signature(
            [
                *(_argument(one) for one in self._arguments),
                *(own[one.name] for one in self._own if one.group == OUTPUT),
                *found.values(),
                *(own[one.name] for one in self._own if one.group == COMMON),
            ]
        )

    def types(self) -> dict[str, Argument | Option]:
        """Everything that can be given, by its name."""
        return named_options(self.name) | {one.name: one for one in (*self._arguments, *self._own)}

    def __call__(self, *places: Any, **named: Any) -> None:
        """Run it with what was given and nothing else."""
        given = dict(self.__signature__.bind_partial(*places, **named).arguments)
        own = {one.name: one for one in (*self._arguments, *self._own)}
        self._run(Asked(own, given))


def _paragraphs(text: str) -> str:
    """Text whose lines are broken between paragraphs only, for terminals of any width."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _argument(one: Argument) -> inspect.Parameter:
    told = _annotated(one.type, Parameter(help=one.help))
    place = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Parameter(one.name, place, default=one.default, annotation=told)


def _own_option(one: Argument, groups: dict[str, Group]) -> inspect.Parameter:
    how = Parameter(help=one.help, group=groups[one.group], negative=(), show_default=False)
    place, told = inspect.Parameter.KEYWORD_ONLY, _annotated(one.type, how)
    return inspect.Parameter(one.name, place, default=one.default, annotation=told)


def _option(option: Option, groups: dict[str, Group]) -> inspect.Parameter:
    how = Parameter(
        help=option.help,
        group=groups[option.group],
        negative=None if option.type is bool and not option.name.startswith("no_") else (),
        show_default=_shown_default(option),
    )
    # Settings take some texts apart by themselves. Only what is given counts, so None may stand in
    # for a default that there is not.
    one_text = option.separated or get_origin(option.type) is dict
    kind, default = str if one_text else option.type, option.default
    if one_text or default is MISSING:
        kind, default = kind | None, None
    place, told = inspect.Parameter.KEYWORD_ONLY, _annotated(kind, how)
    return inspect.Parameter(option.name, place, default=default, annotation=told)


def _shown_default(option: Option) -> bool | str:
    """How help shows the default; False: not at all."""
    default = option.default
    if option.preset:
        return "the preset's"
    if default is MISSING or default is None or default is False or default in ((), {}):
        return False
    if isinstance(default, tuple):
        return ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in default
        )
    return f"{default:g}" if isinstance(default, float) else True


def _annotated(kind: Any, how: Parameter) -> Any:
    return Annotated[kind, how]
