"""Signatures and documentation of the commands as functions, with all of their options."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Any, TypeVar

from leakscope.commands.option_tables import named_options
from leakscope.commands.options import Option
from leakscope.commands.remote_paths import with_remote_paths

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_options_of(
    command: str, again: Callable[[Path], Any] | None = None
) -> Callable[[Function], Function]:
    """Let a function's `**options` be found by Tab and told of by `help`: all of a command's; and
    let it take URLs for paths. `again` opens an output that is finished and only has to be
    uploaded.
    """

    def told(function: Function) -> Function:
        known = inspect.signature(function)
        options = named_options(command)
        fixed = [each for each in known.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [_parameter(option) for option in options.values()]
        run = with_remote_paths(command, function, again)
        run.__signature__ = known.replace(parameters=[*fixed, *more])  # type: ignore[attr-defined]
        lines = [f"    {name}: {option.help}" for name, option in options.items()]
        run.__doc__ = "\n".join([inspect.getdoc(function) or "", "", "Options:", *lines])
        return run

    return told


def _parameter(option: Option) -> inspect.Parameter:
    default = None if option.default is MISSING or option.preset else option.default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option.type
    )
