"""The one place where URLs that a command was given become local paths, and its output a URL again.

A command's function sees local paths only. Inputs are there before it is called; its output is
uploaded when it returns.
"""

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from leakscope.commands.option_tables import named_options
from leakscope.commands.options import OR_PATHS, mentions_path
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import check_claimable
from leakscope.storage.remote_address import (
    RemoteAddress,
    address_at,
    address_of,
    mirror_path,
    placed,
    with_urls,
)

Function = TypeVar("Function", bound=Callable[..., Any])
OUT = "out"
KEPT = ("public_dir", "answers")
"""Options that name a directory which a command both reads and adds to."""
TAKES_UP = ("compare", "study mitigations", "study updates")
"""Commands that go on with a finished output."""


@dataclass
class _Found:
    """The URLs among what a command was given."""

    inputs: dict[RemoteAddress, str]
    """Each with the name of the argument or option that it was given by."""
    kept: set[RemoteAddress]
    outs: set[RemoteAddress]
    places: dict[str, list[Path]]
    """Where inputs are on this machine, local ones and copies, by what they were given by."""
    fresh: bool = False
    """Whether inputs are to be read anew, as by those who look for damage."""

    def place(self, name: str, value: Any) -> Any:
        """A value with local paths instead of URLs, which are noted."""
        if isinstance(value, list | tuple):
            return type(value)(self.place(name, each) for each in value)
        if not isinstance(value, str | os.PathLike):
            return value
        address = address_of(value)
        if address is None and Path(value).is_absolute():
            address = address_at(Path(value))
        if address is None:
            path = Path(placed(value))
            if name not in (OUT, *KEPT):
                self.places.setdefault(name, []).append(path)
            return placed(value)
        path = mirror_path(address, fresh=self.fresh)
        if name == OUT:
            self.outs.add(address)
        elif name in KEPT:
            self.kept.add(address)
        else:
            self.inputs.setdefault(address, name)
            self.places.setdefault(name, []).append(path)
        return str(path) if isinstance(value, str) else path


def with_remote_paths(
    command: str, function: Function, again: Callable[[Path], Any] | None = None
) -> Function:
    """The function of a command, which then also takes URLs wherever it takes paths. `again` gives
    its result for the path of a finished output.
    """
    known = inspect.signature(function)
    paths = [name for name, each in known.parameters.items() if _is_path(each.annotation)]

    @wraps(function)
    def called(*places: Any, **named: Any) -> Any:
        given = known.bind(*places, **named)
        found = _Found({}, set(), set(), {}, fresh=command == "verify")
        _place_all(found, command, paths, given.arguments)
        if not (found.inputs or found.kept or found.outs):
            return function(*given.args, **given.kwargs)
        with _told_by_urls():
            return _call(command, function, again, given, found)

    return cast(Function, called)


def reads_remote_of(command: str) -> Callable[[Function], Function]:
    """Let a function take URLs for paths, also in the options of a command."""
    return partial(with_remote_paths, command)


def reads_remote(function: Function) -> Function:
    """A function that takes no options of a command, and then also URLs for paths."""
    return with_remote_paths("", function)


def local_output(out: str | Path | None) -> Path | None:
    """Where the output of a command is or will be on this machine; None: it is a URL, which a
    forecast does not ask, or was not given.
    """
    if out is None or address_of(out) is not None or address_at(Path(out)) is not None:
        return None
    return Path(placed(out))


def free_output(out: str | Path | None, command: str) -> None:
    """Refuse an output on this machine where the command would refuse it; nothing is written."""
    place = local_output(out)
    if place is not None:
        check_claimable(place, command)


def _is_path(annotation: Any) -> bool:
    return "PathLike" in str(annotation)


def _place_all(found: _Found, command: str, paths: list[str], arguments: dict[str, Any]) -> None:
    for name in paths:
        value = arguments.get(name)
        if value is not None:
            some = value if isinstance(value, str | os.PathLike | list | tuple) else list(value)
            arguments[name] = found.place(name, some)
    options = arguments.get("options", {})
    known = named_options(command) if command else {}
    for name, value in options.items():
        if name in known and (mentions_path(known[name].type) or name in OR_PATHS):
            options[name] = found.place(name, value)
    if "settings" in arguments:
        arguments["settings"] = tuple(_placed_record(found, each) for each in arguments["settings"])


def _placed_record(found: _Found, record: Any) -> Any:
    """A settings object whose paths are local."""
    if not is_dataclass(record) or isinstance(record, type):
        return record
    changed = {}
    for each in fields(record):
        value = getattr(record, each.name)
        paths = isinstance(value, Path) or (
            isinstance(value, tuple) and any(isinstance(one, Path) for one in value)
        )
        if paths or (each.name in OR_PATHS and isinstance(value, str)):
            path = found.place(each.name, value)
            if path != value:
                changed[each.name] = path
    return replace(record, **changed) if changed else record


def _call(
    command: str,
    function: Callable[..., Any],
    again: Callable[[Path], Any] | None,
    given: inspect.BoundArguments,
    found: _Found,
) -> Any:
    from leakscope.commands.input_contents import READ_BY, contents_of
    from leakscope.storage.output import Making, remote_output

    arguments = given.arguments
    progress: Progress = arguments.get("progress", silent)
    takes_up = command in TAKES_UP or bool(_asked("snapshots", arguments))
    asked = {name: value for name, value in arguments.items() if name != "progress"}
    request = digest_of([command, repr(sorted(asked.items()))])
    making = Making(command, request, takes_up, again)
    with ExitStack() as held:
        outs = [held.enter_context(remote_output(each, making, progress)) for each in found.outs]
        aside = replace(making, takes_up=True)
        kept = [held.enter_context(remote_output(each, aside, progress)) for each in found.kept]
        _open_inputs(held, found, arguments, progress)
        if outs and again is not None and not takes_up:  # others look at them each time
            told = {name: _asked(name, arguments) for name in READ_BY}
            contents = contents_of(found.places, told)
            for output in outs:
                output.made_from(contents)
        made = again is not None and any(each.is_made for each in outs)
        if not made:
            result = function(*given.args, **given.kwargs)
        for output in (*kept, *outs):
            output.finish(progress)
        return again(outs[0].path) if made and again is not None else result


def _asked(name: str, arguments: dict[str, Any]) -> Any:
    """The value of an option that was given, by its name or in a settings object."""
    objects = (getattr(each, name, None) for each in arguments.get("settings", ()))
    return arguments.get("options", {}).get(name) or next(filter(None, objects), None)


def _open_inputs(
    held: ExitStack, found: _Found, arguments: dict[str, Any], progress: Progress
) -> None:
    """Have all inputs here. URLs are taken in one order by everybody, so that nobody waits for one
    who waits for them; each once, with all of its parts that are wanted.
    """
    from leakscope.commands.remote_inputs import check_of, opened_anew, parts_left_out
    from leakscope.storage.fetching import localized

    written = {each.url for each in (*found.outs, *found.kept)}
    snapshots, sign = (bool(_asked(name, arguments)) for name in ("snapshots", "sign"))
    for url in sorted({each.url for each in found.inputs} - written):
        parts = {each.inner: name for each, name in found.inputs.items() if each.url == url}
        whole = RemoteAddress(url)
        if found.fresh:
            held.enter_context(opened_anew(whole, progress, publish=sign))
            continue
        left_out = [() if snapshots else parts_left_out(name) for name in parts.values()]
        held.enter_context(
            localized(
                whole,
                parts=[part for part in parts if part],
                without=min(left_out, key=len),
                check=partial(check_of, next(iter(parts.values())), whole),
                progress=progress,
            )
        )


@contextmanager
def _told_by_urls() -> Iterator[None]:
    """Name URLs in errors, not the paths that stand for them."""
    try:
        yield
    except LeakscopeError as error:
        error.args = (with_urls(str(error)), *error.args[1:])
        raise
