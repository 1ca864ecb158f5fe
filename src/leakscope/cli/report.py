"""`leakscope report`."""

from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_comparison, print_forecast, print_run, say, tell, warn_of

if TYPE_CHECKING:
    from leakscope.auditing.gating.gates import Gate
    from leakscope.records.runs.gate_verdict import GateVerdict
    from leakscope.records.runs.run_manifest import RunManifest
    from leakscope.records.runs.run_metrics import Metrics


def report(asked: Asked) -> None:
    """The training data leakage report: what the model gives away of its own training data.

    Runs the model over every training document, collects the sequences that it predicts, and
    counts for each how many users have it. Redacted unless --reveal is given. A report that was
    killed goes on when the same command is given again.

    With --public the report says which of the unique sequences matter: how many times more
    surprising each is to a model that never saw its user.

    Example: leakscope report model corpus --out run --fail-on 'unique_sequences>0'

    Example: leakscope report model corpus --out run --public crossfit --folds 5

    Example: leakscope report http://127.0.0.1:8000/v1 corpus --out run --text-only
    """
    from leakscope.auditing.gating.gates import Gate
    from leakscope.commands.report import report as work
    from leakscope.models.remote.endpoint import Endpoint, is_address

    gates = [Gate.parse(text) for text in asked.options.get("fail_on", ())]
    model, out = asked["model"], asked["out"]
    if is_address(model) and Endpoint(model).in_clear:
        tell("warning: the corpus goes to the endpoint unencrypted; use https.")
    if asked["dry_run"]:
        from leakscope.commands.forecast_report import report as forecast

        found = forecast(model, asked["corpus"], out=out, **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        made = work(model, asked["corpus"], out, progress=progress, **asked.options)
    if isinstance(made, list):
        print_comparison(made, asked["json"])
        (tell if asked["json"] else say)(f"page: {out / 'compare.html'}")
        _check(gates, {run.manifest.name: (run.metrics, run.manifest) for run in made})
        return
    if asked["json"]:
        say(made.metrics.model_dump_json(indent=2))
        warn_of(out)
    else:
        print_run(out)
    _check(gates, {str(out): (made.metrics, made.manifest)})


def _check(gates: "list[Gate]", measured: "dict[str, tuple[Metrics, RunManifest]]") -> None:
    """Tell what each gate says of each run. Exit with code 1 if one holds; raise if one cannot be
    checked.
    """
    from leakscope.records.errors import LeakscopeError

    verdicts = []
    for where, (metrics, manifest) in measured.items():
        behind = (
            "" if metrics.interface is None else f", through an interface that {metrics.interface}"
        )
        part = metrics.audited
        some = (
            "" if part is None else f"; only {part.users:,} of {metrics.users:,} users were audited"
        )
        for gate in gates:
            verdict = gate.verdict(metrics, manifest)
            verdicts.append(verdict)
            by = _set_by(gate, metrics)
            tell(f"gate: {_said(verdict)}{by}{behind}{some} ({where})")
    for verdict in verdicts:
        if verdict.passed is None:
            raise LeakscopeError(f"The gate '{verdict.gate}' cannot be checked: {verdict.reason}")
    if not all(verdict.passed for verdict in verdicts):
        raise SystemExit(1)


def _set_by(gate: "Gate", metrics: "Metrics") -> str:
    """By which sequence an epsilon is set."""
    from leakscope.reporting.facts.chance_facts import set_by

    sequence, words = (
        getattr(metrics, f"{gate.metric}_{end}", None) for end in ("sequence", "words")
    )
    return "".join(f", {each}" for each in set_by(sequence, words))


def _said(verdict: "GateVerdict") -> str:
    """The verdict with value and bound."""
    from leakscope.reporting.facts.values import figure

    why = (verdict.reason or "").removesuffix(".")
    return f"{verdict.word} {verdict.gate}: " + (
        why if verdict.value is None else f"it is {figure(verdict.value)}"
    )


command = Command(
    "report",
    report,
    arguments=(
        Argument(
            "model",
            str,
            "A model directory, or one of its snapshots; or a Hugging Face causal model: its "
            "directory, a PEFT adapter's, a GGUF file, or its name on the hub (owner/model); or "
            "the address of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1.",
        ),
        Argument("corpus", Path, "The corpus that it was trained on."),
    ),
    own=(
        Argument("out", Path, "The run directory to make."),
        Argument("json", bool, "Print the metrics as JSON.", default=False),
        DRY_RUN,
    ),
)
