"""`leakscope study updates`."""

from pathlib import Path

from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import print_whole, say, tell


def updates(asked: Asked) -> None:
    """Measure what updates of a model give away: how often a secret must stand in the new text, and
    what hides it.

    A model is trained on the corpus. Then it is updated with canaries of four classes of word
    frequency, in one or several ways (--scenario). Whoever has both models searches for them: their
    differential scores and ranks are measured, and what else the search finds.

    Every corpus, training and measurement is kept. Run again, also with more conditions, the study
    makes only what is missing.

    Example: leakscope study updates corpus --insertions 10,50,100 --seed 0 --seed 1 --out study

    Example: leakscope study updates corpus --pool 0.5 --extra 0,0.2,0.5,1 --known 0,1 --out study

    Example: leakscope study updates corpus --scenario delete --deleted-users 3 --out study
    """
    from leakscope.commands.study_updates import updates as work
    from leakscope.reporting.facts.update_findings import sentences
    from leakscope.reporting.pages.update_study_page import SHORT_COLUMNS, SHORT_FOUND_COLUMNS
    from leakscope.reporting.terminal.plain_tables import plain_table
    from leakscope.studies.study_directory import PAGE

    out = asked["out"]
    with asked.progress() as progress:
        record = work(asked["corpus"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(record.model_dump_json(indent=2))
    else:
        for line in sentences(record):
            say(line)
        if record.rows:
            print_whole(plain_table(SHORT_COLUMNS, [row.model_dump() for row in record.rows]))
        print_whole(plain_table(SHORT_FOUND_COLUMNS, [row.model_dump() for row in record.found]))
    for warning in record.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")


command = Command(
    "study updates",
    updates,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(
        Argument("out", Path, "The directory to make, or to take up again."),
        Argument("json", bool, "Print study.json.", default=False),
    ),
)
