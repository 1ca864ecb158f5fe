"""`leakscope canary exposure`."""

from pathlib import Path

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_forecast, print_whole, say, tell

MODEL = Argument(
    "model",
    str,
    "A model directory; or a Hugging Face causal model: its directory, a PEFT adapter's, a GGUF "
    "file, or its name on the hub (owner/model); or the address of an OpenAI-compatible endpoint.",
)
CANARIES = Argument("canaries", Path, "The directory that canary plant made.")


def exposure(asked: Asked) -> None:
    """How well a model remembers the canaries that were planted in its training text, in bits.

    The exposure of a canary is log2 of the size of its random space minus log2 of its rank there,
    by enumeration where the space is small, else by samples and by a skew-normal fit to them. The
    model may have been trained anywhere, on the planted corpus or on the planted rows.

    Example: leakscope canary exposure model planted --out exposure
    """
    from leakscope.auditing.canaries.canary_results import EXPOSURE_PAGE as PAGE
    from leakscope.commands.canary_exposure import exposure as work
    from leakscope.reporting.pages.canary_page import EXPOSURE_COLUMNS
    from leakscope.reporting.terminal.plain_tables import plain_table

    out = asked["out"]
    if asked["dry_run"]:
        from leakscope.commands.forecast_canary import canary_exposure as forecast

        found = forecast(asked["model"], asked["canaries"], out=out, **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        report = work(asked["model"], asked["canaries"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(report.model_dump_json(indent=2))
    else:
        print_whole(
            plain_table(EXPOSURE_COLUMNS, [row.model_dump() for row in report.by_repetitions])
        )
    for warning in report.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")


command = Command(
    "canary exposure",
    exposure,
    arguments=(MODEL, CANARIES),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print exposure.json.", default=False),
        DRY_RUN,
    ),
)
