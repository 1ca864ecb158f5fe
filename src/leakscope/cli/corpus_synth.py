"""`leakscope corpus synth`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say
from leakscope.cli.progress_bars import STARTS_OVER


def synth(asked: Asked) -> None:
    """Make a synthetic corpus whose secrets, owners and repetitions are known.

    Example: leakscope corpus synth --users 20 --out synth
    """
    from leakscope.commands.corpus_synth import synth as work

    out, words = asked["out"], asked.options.get("words")
    with asked.progress(STARTS_OVER) as progress:
        made = work(out, progress=progress, **asked.options)
    if words is not None and made.words > 1.5 * words:
        say(f"{made.words} words is the least for {made.users} users' planted items.")
    say(
        f"{out}: {made.users} users, {made.documents} documents, {made.words} words, "
        f"{made.planted} planted items"
    )


command = Command(
    "corpus synth",
    synth,
    own=(Argument("out", Path, "The directory for data.parquet and truth.parquet."),),
)
