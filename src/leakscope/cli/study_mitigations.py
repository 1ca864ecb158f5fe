"""`leakscope study mitigations`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_whole, say, tell


def mitigations(asked: Asked) -> None:
    """Compare mitigations at equal usefulness: what they give away, whom they serve, what they
    cost.

    Canaries are planted in the corpus, and each training stops where it first reaches a validation
    perplexity. Then exposure, the tab attack on planted and on real canaries, unique sequences,
    disparate impact and the cost of an epoch are measured, and put on one page.

    Every training and measurement is kept. Run again, also with more seeds or targets, the study
    makes only what is missing.

    Example: leakscope study mitigations corpus --target 60 --seed 0 --seed 1 --out study
    """
    from leakscope.commands.study_mitigations import mitigations as work
    from leakscope.reporting.pages.study_page import SHORT_COLUMNS
    from leakscope.reporting.terminal.plain_tables import plain_table
    from leakscope.studies.study_directory import PAGE

    out = asked["out"]
    with asked.progress() as progress:
        record = work(asked["corpus"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(record.model_dump_json(indent=2))
    else:
        print_whole(plain_table(SHORT_COLUMNS, [row.model_dump() for row in record.rows]))
    for warning in record.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")


command = Command(
    "study mitigations",
    mitigations,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(
        Argument("out", Path, "The directory to make, or to take up again."),
        Argument("json", bool, "Print study.json.", default=False),
    ),
)
