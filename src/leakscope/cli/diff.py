"""`leakscope diff`."""

from pathlib import Path

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_forecast, print_whole, say, tell

_MODEL = (
    "a model directory, or one of its snapshots; or a Hugging Face causal model: its directory, a "
    "PEFT adapter's, a GGUF file, or its name on the hub (owner/model)."
)


def diff(asked: Asked) -> None:
    """What an update gives away: sequences whose probability has risen from one model to the next.

    Whoever has both models needs no training data for this. The search goes through sequences of
    words, or of tokens, by their differential score: the sum of what each word's probability rises
    by. With the corpora, it says whose the found sequences are.

    Redacted unless --reveal is given. For an update that deleted somebody's data, give --deleted.

    Example: leakscope diff model-may model-june --out diff --new-corpus june --old-corpus may

    Example: leakscope diff base adapter --out diff --reveal --groups 10
    """
    from leakscope.auditing.updates.diff_gate import DiffGate
    from leakscope.auditing.updates.diff_run import PAGE
    from leakscope.commands.diff import diff as work
    from leakscope.reporting.terminal.update_table import update_lines

    gates = [DiffGate.parse(text) for text in asked["fail_on"]]
    out = asked["out"]
    if asked["dry_run"]:
        from leakscope.commands.forecast_diff import diff as forecast

        found = forecast(asked["old"], asked["new"], out=out, **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        report = work(asked["old"], asked["new"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(report.model_dump_json(indent=2))
    else:
        print_whole(update_lines(report, out))
    for warning in report.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")
    failed = [gate for gate in gates if gate.holds(report)]
    for gate in failed:
        tell(f"gate: {gate.text} holds: it is {gate.value(report):g}")
    if failed:
        raise SystemExit(1)


command = Command(
    "diff",
    diff,
    arguments=(
        Argument("old", str, f"The older model: {_MODEL}"),
        Argument("new", str, "The newer model, of the same kinds."),
    ),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print diff.json.", default=False),
        DRY_RUN,
        Argument(
            "fail_on",
            tuple[str, ...],
            "A gate such as 'one_user_found>0': exit code 1 if it holds. May be repeated.",
            default=(),
        ),
    ),
)
