"""`leakscope train`."""

import os
from pathlib import Path

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.printing import print_forecast, say, tell
from leakscope.records.errors import LeakscopeError

INTERRUPTED = (
    "the same command goes on from the last checkpoint, or starts over if there is none yet"
)


def train(asked: Asked) -> None:
    """Train a word-level language model, with a snapshot every epoch.

    A training that was killed goes on when the same command is given again, to the very same
    weights.

    The directory is not for publishing: see leakscope export.

    Example: leakscope train corpus --arch gru --epochs 10 --out model

    Example: leakscope train corpus --mitigation dp --target-epsilon 5 --out private
    """
    from leakscope.commands.train import train as work

    _refuse_other_launchers()
    if asked["dry_run"]:
        from leakscope.commands.forecast_train import train as forecast

        print_forecast(forecast(asked["corpus"], out=asked["out"], **asked.options))
        return
    with asked.progress(INTERRUPTED) as progress:
        trained = work(asked["corpus"], asked["out"], progress=progress, **asked.options)
    last = trained.history[-1]
    figure = last["validation_perplexity"]
    say(
        f"{trained.path}: {last['step']} steps, validation perplexity "
        + (f"{figure:.2f}" if figure is not None else "not measured")
    )
    _print_privacy(trained.path)
    for why in trained.missed:
        tell(f"note: {why}")


def _refuse_other_launchers() -> None:
    """Refuse to be one of several: each would train the same model into the same directory."""
    if "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1":
        raise LeakscopeError(
            "leakscope starts its workers itself, on one machine; leave out torchrun, and give "
            "--workers."
        )


def _print_privacy(model: Path) -> None:
    from leakscope.models.word.model_directory import load_config
    from leakscope.reporting.facts.values import bound
    from leakscope.training.published_copy import unpublishable

    config = load_config(model)
    found = config.privacy
    if found is None:
        return
    epsilon = f"epsilon {bound(found.epsilon)}" if found.epsilon is not None else found.reason
    say(
        f"{epsilon} at delta {bound(found.delta)} for one {found.unit} of {found.units}, "
        f"{found.accountant}; {found.steps} steps, noise {found.noise_multiplier:g}"
    )
    doubts = found.doubts()
    for doubt in doubts:
        tell(f"warning: {doubt}")
    for caveat in found.caveats:
        if caveat not in doubts:
            tell(f"note: {caveat}")
    why = unpublishable(config)
    tell(
        f"note: Do not publish {model} itself; leakscope export {model} --public --out DIR makes a "
        "copy that may be published."
        if why is None
        else f"note: Do not publish {model}, nor a copy of it: {why}"
    )


command = Command(
    "train",
    train,
    arguments=(Argument("corpus", Path, "A corpus directory."),),
    own=(Argument("out", Path, "The model directory to make."), DRY_RUN),
)
