"""`leakscope harden`."""

from dataclasses import asdict
from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_whole, say, say_json, tell
from leakscope.cli.progress_bars import STARTS_OVER


def harden(asked: Asked) -> None:
    """What a stricter interface would leave of the leakage, and what it would cost in use.

    Curves over confidence thresholds and over the number of suggestions, from the probabilities
    that the report stored, without the model; and a block list of the shortest unique sequences.

    Example: leakscope harden run --corpus corpus --out hardened
    """
    from leakscope.commands.harden import BLOCK_LIST
    from leakscope.commands.harden import harden as work
    from leakscope.records.runs.run_manifest import open_run
    from leakscope.reporting.facts.guarantee import guarantee_of, stamps
    from leakscope.reporting.facts.interface_facts import notes
    from leakscope.reporting.terminal.tables import hardening_table

    run, out = asked["run"], asked["out"]
    with asked.progress(STARTS_OVER) as progress:
        points = work(run, asked["corpus"], out, progress=progress, **asked.options)
    rows = [asdict(point) for point in points]
    if asked["json"]:
        say_json(rows)
    else:
        print_whole(hardening_table(rows))
    manifest, metrics = open_run(run)
    for label, line in notes(metrics.interface):
        tell(f"{label}. {line}")
    for _, line in stamps(guarantee_of(manifest)):
        tell(f"warning: {line}")
    aside = tell if asked["json"] else say
    aside(f"page: {out / 'harden.html'}")
    if (out / BLOCK_LIST).exists():
        aside(f"block list: {out / BLOCK_LIST}")


command = Command(
    "harden",
    harden,
    arguments=(Argument("run", Path, "A run directory of leakscope report."),),
    own=(
        Argument("corpus", Path, "The corpus that the report was made on."),
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print the points as JSON.", default=False),
    ),
)
