"""Which trainings a study compares: from a TOML file, or the usual four."""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.option_tables import command_options
from leakscope.commands.train_options import train_settings
from leakscope.models.word.architecture import Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.studies.planned_training import PlannedTraining
from leakscope.training.train_settings import TrainSettings

USUAL: dict[str, dict[str, Any]] = {
    "plain": {},
    "dp": {"mitigation": "dp", "noise_multiplier": 0.6},
    "adversarial": {"mitigation": "adversarial"},
    "triplet": {"mitigation": "triplet"},
}
"""The trainings that are compared if no file says which."""
DECIDED = {
    "seed", "snapshot_steps", "snapshot_at_epsilon", "until_perplexity", "workers", "threads",
    "warm_start", "vocabulary_from",
}  # fmt: skip
"""Options of `train` that are not a single training's to choose in a study."""


def planned_trainings(
    given: Given, command: str, path: Path | None, usual: Collection[str] = tuple(USUAL)
) -> list[PlannedTraining]:
    """The trainings of a study: the options of `train` that all of them share, and on top each
    one's own; of the usual ones, those that are named.
    """
    records = (TrainChoices, Architecture, TrainSettings)
    shared = {
        option.name: given.options[option.name]
        for option in command_options(command)
        if option.part.record() in records and option.name in given.options
    }
    objects = [found for record in records if (found := given.object_of(record)) is not None]
    tables = {name: USUAL[name] for name in usual} if path is None else _read(path)
    return [_planned(name, objects, shared | table, path) for name, table in tables.items()]


def _planned(
    name: str, objects: list[object], options: dict[str, Any], path: Path | None
) -> PlannedTraining:
    try:
        given = Given("train", objects, options)
        settings = train_settings(given, given.make(TrainChoices))
    except LeakscopeError as error:
        where = "" if path is None else f" in {path}"
        raise LeakscopeError(f"The training {name}{where}: {error}") from None
    return PlannedTraining(name, settings)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Each training's options, by its name."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LeakscopeError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise LeakscopeError(f"{path} is not a TOML file; mend it.") from None
    if not data:
        raise LeakscopeError(f"{path} has no training; give a table for each, such as [plain].")
    found = {}
    for name, table in data.items():
        if not isinstance(table, dict):
            raise LeakscopeError(
                f"{name} in {path} is not a table; options stand below the name of their training, "
                "such as [plain]."
            )
        options = {option.replace("-", "_"): value for option, value in table.items()}
        refused = sorted(DECIDED & set(options))
        if refused:
            raise LeakscopeError(
                f"The training {name} in {path} cannot have a {refused[0]} of its own in a study; "
                "leave it out."
            )
        found[name] = options
    return found
