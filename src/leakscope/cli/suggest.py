"""`leakscope suggest`."""

from dataclasses import asdict
from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_whole, say_json


def suggest(asked: Asked) -> None:
    """An action list from a report: documents to remove, users to review, copies to collapse.

    Example: leakscope suggest run --most 10
    """
    from leakscope.commands.suggest import suggest as work
    from leakscope.reporting.terminal.tables import suggestion_tables

    found = asdict(work(asked["run"], asked["out"], **asked.options))
    if asked["json"]:
        say_json(found)
    else:
        print_whole(suggestion_tables(found))


command = Command(
    "suggest",
    suggest,
    arguments=(Argument("run", Path, "A run directory of leakscope report."),),
    own=(
        Argument("out", Path | None, "Write the list as JSON to this new file.", default=None),
        Argument("json", bool, "Print the list as JSON.", default=False),
    ),
)
