"""`leakscope suggest`."""

from dataclasses import asdict
from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_whole, say_json


def suggest(asked: Asked) -> None:
    """An action list from a report: documents to remove, users to review, copies to collapse.

    With the corpus, documents are named by the file and row that they come from. The file of --out
    has a line per action: strike out what you do not want, then give it to corpus clean --drop.

    Example: leakscope suggest run --corpus corpus --most 50 --out actions.jsonl
    """
    from leakscope.commands.suggest import suggest as work
    from leakscope.reporting.terminal.tables import suggestion_tables

    found = asdict(work(asked["run"], asked["out"], asked["corpus"], **asked.options))
    if asked["json"]:
        say_json(found)
    else:
        print_whole(suggestion_tables(found))


command = Command(
    "suggest",
    suggest,
    arguments=(Argument("run", Path, "A run directory of leakscope report."),),
    own=(
        Argument("corpus", Path | None, "The corpus that the report was made on.", default=None),
        Argument(
            "out", Path | None, "Write the list to this new file, as JSON Lines.", default=None
        ),
        Argument("json", bool, "Print the list as JSON.", default=False),
    ),
)
