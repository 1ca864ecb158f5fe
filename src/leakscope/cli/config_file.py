"""`--config`: options from a TOML file, or those of a run from its manifest."""

import json
import tomllib
from pathlib import Path
from typing import Any

from cyclopts import App, ArgumentCollection, Token

from leakscope.cli.command import Command
from leakscope.commands.given import of_type, refuse_unknown
from leakscope.commands.option_tables import COMMANDS, command_options
from leakscope.commands.options import Option
from leakscope.records.errors import LeakscopeError


def from_config_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Fill in from the file that --config names what was not given on the command line."""
    places = {argument.field_info.name: argument for argument in arguments}
    if "config" not in places or not places["config"].tokens:
        return
    if "://" in places["config"].tokens[0].value:
        raise LeakscopeError("--config must name a local file, not a URL.")
    path, name = Path(places["config"].tokens[0].value), " ".join(commands)
    given = {each for each, argument in places.items() if argument.tokens}
    wanted = _options_in(path, name, given)
    known = app.default_command
    types = known.types() if isinstance(known, Command) else {}
    for key, value in wanted.items():
        if key not in types or key == "config":
            refuse_unknown(name, key, [each for each in types if each != "config"])
        if key not in given:
            checked = of_type(types[key], value)
            places[key].append(Token(implicit_value=checked, source=str(path)))


def _options_in(path: Path, command: str, given: set[str]) -> dict[str, Any]:
    """The options that a file has for a command, by their names with underscores."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise LeakscopeError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise LeakscopeError(
            f"{path} is not a TOML file, nor the manifest.json of a run; mend it."
        ) from None
    if path.suffix == ".json":
        _check(path)
        if command != "report" or not isinstance(data, dict) or "corpus_digest" not in data:
            raise LeakscopeError(
                f"{path} is not a TOML file; only leakscope report takes JSON: a run's manifest."
            )
        options = data.get("options") or _of_older_run(data, given)
        if not isinstance(options, dict):
            raise LeakscopeError(f"{path} has no options in it; give them one by one.")
        return options
    # "corpus" is an argument of some commands and the first word of others.
    tables = {name.split()[0] for name in COMMANDS}
    found = {
        key: value
        for key, value in data.items()
        if key not in tables or (key == "corpus" and not isinstance(value, dict))
    }
    table: Any = data
    for part in command.split():
        table = table.get(part, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise LeakscopeError(f"[{command.replace(' ', '.')}] in {path} is not a table of options.")
    return {key.replace("-", "_"): value for key, value in (found | table).items()}


def _check(manifest: Path) -> None:
    """Hold a manifest to its seal; imported here, since help reads no files of ours."""
    from leakscope.records.artifacts import check

    check(manifest)


def _of_older_run(manifest: dict[str, Any], given: set[str]) -> dict[str, Any]:
    """The options of a run whose manifest does not list them: what its settings tell."""
    settings, public = manifest.get("settings", {}), manifest.get("public")
    found = {
        option.name: settings[option.field]
        for option in command_options("report")
        if _is_of_report(option) and settings.get(option.field) is not None
    }
    if settings.get("block_list") is not None and "block_list" not in given:
        raise LeakscopeError("The manifest names no block list file; give --block-list.")
    if public is not None and "public" not in given:
        if public["kind"] == "given":
            raise LeakscopeError("The manifest names no public model directory; give --public.")
        found["public"] = public["kind"]
        if "folds" in public:
            found["folds"] = public["folds"]
    return found


def _is_of_report(option: Option) -> bool:
    return option.part.path.endswith(":ReportSettings")
