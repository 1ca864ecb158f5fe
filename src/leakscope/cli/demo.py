"""`leakscope demo`."""

from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say

if TYPE_CHECKING:
    from leakscope.commands.demo import Story


def demo(asked: Asked) -> None:
    """The whole story on a synthetic corpus: text, training, report, and what leaked.

    The secrets in the text are made up and known, so the demo can say which of them the model
    gives away, how often each was stated, and how little one has to type.
    """
    from leakscope.commands.demo import demo as work

    out = asked["out"]
    with asked.progress(f"remove {out} and start again") as progress:
        story = work(out, progress=progress, **asked.options)
    _tell(story, out)


def _tell(story: "Story", out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from leakscope.commands.demo import SECRETS

    console = Console(highlight=False)
    metrics, train = story.metrics, story.corpus.train
    console.print(
        f"\n{train.users} people wrote {train.words:,} words. A language model was trained on "
        f"them until it knew them too well."
    )
    table = Table(title="Secrets that came out, by how often their owner stated them")
    for column in ("stated", "planted", "came out"):
        table.add_column(column, justify="right")
    for repetitions, (planted, came_out) in story.by_repetitions().items():
        table.add_row(f"{repetitions}x", str(planted), str(came_out))
    console.print(table)
    others = Table(title="The other planted items")
    for column in ("kind", "planted", "came out"):
        others.add_column(column, justify="left" if column == "kind" else "right")
    for kind in sorted({item.kind for item in story.planted} - set(SECRETS)):
        group = [item.came_out for item in story.planted if item.kind == kind]
        others.add_row(kind, str(len(group)), str(sum(group)))
    console.print(others)
    leaked = [item for item in story.planted if item.kind in SECRETS and item.context is not None]
    leaked.sort(key=lambda item: (len(item.context or []), -item.repetitions))
    console.print("Some of them, with the least that one has to type before pressing Tab:")
    for item in leaked[:5]:
        typed = " ".join(item.context or []) or "(nothing at all)"
        completion = " ".join(item.completion or [])
        console.print(f"  {typed} → {completion}", markup=False)
    shortest = min((len(item.context or []) for item in leaked), default=None)
    console.print(
        f"\n{len(leaked)} of {sum(n for n, _ in story.by_repetitions().values())} secrets came "
        f"out" + (f", the easiest after {shortest} typed words." if shortest is not None else ".")
    )
    console.print(
        f"The report lists {metrics.unique_sequences} sequences that only one user has, owned by "
        f"{metrics.users_with_unique} of {metrics.users} users."
    )
    say(f"Open {story.page}")
    say(f'Try  leakscope probe {out / "model"} "{_first_words(leaked)}"')


def _first_words(leaked: list) -> str:  # type: ignore[type-arg]
    item = next((item for item in leaked if item.context), None)
    return " ".join(item.context) if item is not None else "Please"


command = Command(
    "demo",
    demo,
    own=(
        Argument(
            "out", Path, "Where everything is written; demo by default.", default=Path("demo")
        ),
    ),
)
