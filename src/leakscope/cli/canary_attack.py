"""`leakscope canary attack`."""

from pathlib import Path

from leakscope.cli.canary_exposure import CANARIES, MODEL
from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_forecast, print_whole, say, tell


def attack(asked: Asked) -> None:
    """The tab attack on canaries: type their first words, press Tab, and see whether they come.

    Says how many canaries come out whole, by how often they were repeated, also of those that were
    not planted and of real ones.

    Example: leakscope canary attack model planted --out attack --given 1 --beam 5
    """
    from leakscope.auditing.canaries.canary_results import ATTACK_PAGE as PAGE
    from leakscope.commands.canary_attack import attack as work
    from leakscope.reporting.pages.canary_page import ATTACK_COLUMNS
    from leakscope.reporting.terminal.plain_tables import plain_table

    out = asked["out"]
    if asked["dry_run"]:
        from leakscope.commands.forecast_canary import canary_attack as forecast

        found = forecast(asked["model"], asked["canaries"], out=out, **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        report = work(asked["model"], asked["canaries"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(report.model_dump_json(indent=2))
    else:
        print_whole(plain_table(ATTACK_COLUMNS, [row.model_dump() for row in report.rates]))
    for warning in report.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")


command = Command(
    "canary attack",
    attack,
    arguments=(MODEL, CANARIES),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print attack.json.", default=False),
        DRY_RUN,
    ),
)
