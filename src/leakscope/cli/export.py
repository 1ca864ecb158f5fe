"""`leakscope export`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, tell


def export(asked: Asked) -> None:
    """Make a copy of a private model that may be published.

    A model's own directory must not be published: beside the weights it has figures, times and
    digests of the private text, and the words in the order of their frequency.

    Example: leakscope export private --public --out published
    """
    from leakscope.commands.export import export as work

    config = work(asked["model"], asked["out"], **asked.options)
    say(f"{asked['out']}: {config.vocabulary:,} words, {config.mitigation.summary()}")
    for caveat in [] if config.privacy is None else config.privacy.caveats:
        tell(f"note: {caveat}")


command = Command(
    "export",
    export,
    arguments=(Argument("model", Path, "A model directory, or a snapshot in one."),),
    own=(Argument("out", Path, "The directory to make; everybody may read it."),),
)
