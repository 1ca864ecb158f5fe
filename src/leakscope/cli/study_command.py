"""What the commands of all studies share: a corpus, a directory, and how they print."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_whole, say, tell

if TYPE_CHECKING:
    from rich.console import RenderableType


def study_command(name: str, run: Callable[[Asked], None]) -> Command:
    """The command of a study."""
    return Command(
        name,
        run,
        arguments=(Argument("corpus", Path, "A corpus directory."),),
        own=(
            Argument("out", Path, "The directory to make, or to take up again."),
            Argument("json", bool, "Print study.json.", default=False),
            DRY_RUN,
        ),
    )


def print_study(asked: Asked, record: Any, parts: "Iterable[RenderableType]") -> None:
    """The record of a study as JSON, or as these parts; then warnings, and where the page is."""
    from leakscope.studies.study_directory import PAGE

    if asked["json"]:
        say(record.model_dump_json(indent=2))
    else:
        for part in parts:
            print_whole(part)
    for warning in record.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {asked['out'] / PAGE}")
