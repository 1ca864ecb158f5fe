"""`leakscope study updates`."""

from leakscope.cli.command import Asked
from leakscope.cli.printing import print_forecast
from leakscope.cli.study_command import print_study, study_command


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
    from rich.text import Text

    from leakscope.commands.study_updates import updates as work
    from leakscope.reporting.facts.update_findings import sentences
    from leakscope.reporting.pages.update_study_page import (
        SHORT_COLUMNS,
        SHORT_FOUND_COLUMNS,
        canary_lines,
        found_lines,
    )
    from leakscope.reporting.terminal.plain_tables import plain_table

    if asked["dry_run"]:
        from leakscope.commands.forecast_study import study_updates as forecast

        found = forecast(asked["corpus"], out=asked["out"], **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        record = work(asked["corpus"], asked["out"], progress=progress, **asked.options)
    tables = [(SHORT_COLUMNS, canary_lines(record)), (SHORT_FOUND_COLUMNS, found_lines(record))]
    print_study(
        asked,
        record,
        [
            *map(Text, sentences(record)),
            *(plain_table(columns, rows) for columns, rows in tables if rows),
        ],
    )


command = study_command("study updates", updates)
