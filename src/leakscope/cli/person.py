"""`leakscope person`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, tell, warn_of


def person(asked: Asked) -> None:
    """What the model gives away of one person, from a finished report.

    Their sequences with contexts, least context, ratio and kinds of personal data, and how much of
    their text comes out: as a page, as JSON and as CSV. Of a redacted run, numbers only.

    Example: leakscope person run --user ada@example.org --out ada

    Example: leakscope person run --user ada@example.org --corpus corpus --out ada
    """
    from leakscope.commands.person import PAGE, TABLE
    from leakscope.commands.person import person as work

    out = asked["out"]
    found = work(asked["run"], out, **asked.options)
    if asked["json"]:
        say(found.model_dump_json(indent=2))
    else:
        say(found.summary)
    warn_of(asked["run"])
    aside = tell if asked["json"] else say
    aside(f"page: {out / PAGE}")
    aside(f"table: {out / TABLE}")


command = Command(
    "person",
    person,
    arguments=(Argument("run", Path, "A run directory of leakscope report."),),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print what person.json holds.", default=False),
    ),
)
