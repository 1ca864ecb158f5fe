"""`leakscope study mitigations`."""

from leakscope.cli.command import Asked
from leakscope.cli.printing import print_forecast
from leakscope.cli.study_command import print_study, study_command


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

    if asked["dry_run"]:
        from leakscope.commands.forecast_study import study_mitigations as forecast

        found = forecast(asked["corpus"], out=asked["out"], **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        record = work(asked["corpus"], asked["out"], progress=progress, **asked.options)
    rows = [row.model_dump() for row in record.rows]
    print_study(asked, record, [plain_table(SHORT_COLUMNS, rows)])


command = study_command("study mitigations", mitigations)
