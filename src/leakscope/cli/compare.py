"""`leakscope compare`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_comparison, say, tell
from leakscope.records.user_groups import GROUP_USERS


def compare(asked: Asked) -> None:
    """Runs side by side: perplexity, accuracy, unique sequences, leakage epsilon.

    Example: leakscope compare runs/plain runs/dp --out comparison
    """
    from leakscope.commands.compare import compare as work

    out, group_users = asked["out"], asked.options.get("group_users", GROUP_USERS)
    print_comparison(work(asked["runs"], out, **asked.options), asked["json"], group_users)
    if out is not None:
        (tell if asked["json"] else say)(f"page: {out / 'compare.html'}")


command = Command(
    "compare",
    compare,
    arguments=(Argument("runs", list[Path], "Run directories, or folders that hold several."),),
    own=(
        Argument("out", Path | None, "Where to write the page and the JSON.", default=None),
        Argument("json", bool, "Print the rows as JSON.", default=False),
    ),
)
