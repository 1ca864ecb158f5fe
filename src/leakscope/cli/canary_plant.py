"""`leakscope canary plant`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, say_json, tell

if TYPE_CHECKING:
    from leakscope.records.canaries.canary_manifest import CanaryManifest


def plant(asked: Asked) -> None:
    """Plant canaries in training text: random word sequences that each belong to one user.

    Writes the planted corpus, the planted rows in the format that came in (JSONL or Parquet), for
    a training pipeline of your own, and canaries.json, which lists the canaries and must never
    become training text.

    Example: leakscope canary plant corpus --out planted --users 50

    Example: leakscope canary plant chat.parquet --user-column nick --out planted
    --template 'my card number is {digits:16}'

    Example: leakscope canary plant corpus --out planted --coins user --canaries 1000
    """
    from leakscope.commands.canary_plant import plant as work

    out = asked["out"]
    with asked.progress() as progress:
        manifest = work(asked["source"], out, progress=progress, **asked.options)
    if asked["json"]:
        say_json(_summary(manifest))
    else:
        for name, value in _summary(manifest).items():
            say(f"{name.replace('_', ' '):<10} {value:,}")
        say(f"corpus: {out / 'corpus'}")
        say(f"rows: {out / manifest.rows}")
    tell(f"keep {out / 'canaries.json'} out of the training text: it lists the canaries.")


def _summary(manifest: "CanaryManifest") -> dict[str, int]:
    states = Counter(canary.state for canary in manifest.canaries)
    owners = {canary.user for canary in manifest.canaries if canary.state == "planted"}
    return {
        "planted": states["planted"],
        "users": len(owners),
        "rows": sum(len(canary.rows) for canary in manifest.canaries),
        "left_out": states["left out"],
        "controls": states["control"],
        "real": states["real"],
    }


command = Command(
    "canary plant",
    plant,
    arguments=(Argument("source", Path, "A corpus directory, or a file that corpus build reads."),),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print the counts as JSON.", default=False),
    ),
)
