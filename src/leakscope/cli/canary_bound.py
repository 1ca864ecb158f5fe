"""`leakscope canary bound`."""

from pathlib import Path

from leakscope.cli.canary_exposure import CANARIES, MODEL
from leakscope.cli.command import Argument, Asked, Command
from leakscope.cli.printing import say, tell
from leakscope.cli.progress_bars import STARTS_OVER


def bound(asked: Asked) -> None:
    """Check a claim of differential privacy: a lower bound on epsilon from one training run.

    Plant with --coins first, so that each canary is in the training text or not by a coin of its
    own. The bound says which epsilon the training cannot have; below the claim it proves nothing,
    above the claim it refutes it.

    Example: leakscope canary bound model planted --out bound --fail-on 'epsilon_lower>claimed'
    """
    from leakscope.auditing.canaries.bound_gate import BoundGate
    from leakscope.commands.canary_bound import PAGE
    from leakscope.commands.canary_bound import bound as work

    gates = [BoundGate.parse(text) for text in asked["fail_on"]]
    out = asked["out"]
    with asked.progress(_when_interrupted(asked)) as progress:
        report = work(asked["model"], asked["canaries"], out, progress=progress, **asked.options)
    if asked["json"]:
        say(report.model_dump_json(indent=2))
    else:
        claim = "none" if report.claimed is None else f"{report.claimed:.4g}"
        say(f"claimed    {claim} for one {report.unit}, at delta {report.delta:.3g}")
        say(f"measured   at least {report.epsilon_lower:.4g}, {100 * report.confidence:g} % sure")
        say(f"guesses    {report.correct} of {report.guesses} right, {report.coins} coins")
    for warning in report.warnings:
        tell(f"warning: {warning}")
    (tell if asked["json"] else say)(f"page: {out / PAGE}")
    failed = [gate for gate in gates if gate.holds(report)]
    for gate in failed:
        tell(f"gate: {gate.text} holds: it is {report.epsilon_lower:g}")
    if failed:
        raise SystemExit(1)


def _when_interrupted(asked: Asked) -> str:
    """What Ctrl-C leaves: the answers of an endpoint alone, since each has cost a request."""
    from leakscope.models.remote.endpoint import is_address
    from leakscope.storage.remote_address import address_at

    if not is_address(str(asked["model"])):
        return STARTS_OVER
    kept = asked.options.get("answers") or asked["out"]
    place = kept if address_at(Path(kept)) is None else "the cache of this machine"
    return f"the endpoint's answers are kept in {place}, and the same command goes on from them"


command = Command(
    "canary bound",
    bound,
    arguments=(MODEL, CANARIES),
    own=(
        Argument("out", Path, "The directory to make."),
        Argument("json", bool, "Print bound.json.", default=False),
        Argument(
            "fail_on",
            tuple[str, ...],
            "A gate: 'epsilon_lower>claimed', or a number in place of claimed. Exit code 1 if it "
            "holds. May be repeated.",
            default=(),
        ),
    ),
)
