"""`leakscope render`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say


def render(asked: Asked) -> None:
    """Write a finished report again, redacted or revealed, without running the model.

    A redacted copy has lengths and numbers, no words and no user keys: it is what can be shared.
    The reverse needs the corpus. Either equals what leakscope report would have written.

    Example: leakscope render run --redact --out shared

    Example: leakscope render run --reveal --corpus corpus --out private
    """
    from leakscope.commands.render import render as work

    made = work(asked["run"], asked["out"], **asked.options)
    say(f"{'revealed' if made.manifest.revealed else 'redacted'} run: {made.path}")
    say(f"page: {made.page}")


command = Command(
    "render",
    render,
    arguments=(Argument("run", Path, "A run directory of leakscope report."),),
    own=(Argument("out", Path, "The run directory to make."),),
)
