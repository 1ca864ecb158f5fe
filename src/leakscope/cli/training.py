"""`leakscope train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakscope.cli.progress import shown

if TYPE_CHECKING:
    from leakscope.training.dp.dp_settings import PrivacySettings


def train(
    corpus: Annotated[Path, typer.Argument(help="A corpus directory.")],
    out: Annotated[Path, typer.Option(help="The model directory to make.")],
    arch: Annotated[
        str | None,
        typer.Option(help="lstm, gru or transformer, in the papers' standard size."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A published configuration: lstm-2x128, gru-160-512, lstm-2x550, lstm-2x200, "
            "lstm-160-512, lstm-2x512, transformer-4x6x192."
        ),
    ] = None,
    layers: Annotated[int | None, typer.Option(help="Instead of the preset's.")] = None,
    embedding: Annotated[int | None, typer.Option(help="Instead of the preset's.")] = None,
    hidden: Annotated[int | None, typer.Option(help="Instead of the preset's.")] = None,
    heads: Annotated[int | None, typer.Option(help="Instead of the preset's.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Instead of the preset's.")] = None,
    context: Annotated[int | None, typer.Option(help="Of a transformer, in words.")] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="Most frequent words that the model knows.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the training documents.")] = 10,
    batch_size: Annotated[int | None, typer.Option(help="Documents a step.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam or adamax.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Instead of the preset's.")] = None,
    max_words: Annotated[
        int | None,
        typer.Option(
            help="Longer documents are trained in pieces of so many words: 256, or the context "
            "of a transformer."
        ),
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(
            help="Largest norm of a step's gradient: 5; with --mitigation dp, of what one user "
            "contributes to it: 1."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of weights, order and dropout.")] = 0,
    snapshot_steps: Annotated[
        int | None, typer.Option(help="A snapshot every so many steps instead of every epoch.")
    ] = None,
    checkpoint_steps: Annotated[
        int, typer.Option(help="Steps between checkpoints to resume from.")
    ] = 500,
    warm_start: Annotated[
        Path | None, typer.Option(help="A model of the same architecture to start from.")
    ] = None,
    vocabulary_from: Annotated[
        Path | None,
        typer.Option(help="A model whose vocabulary to take, instead of the corpus's own words."),
    ] = None,
    vocabulary_users: Annotated[
        int, typer.Option(help="Leave words of fewer users than this out of the vocabulary.")
    ] = 1,
    mitigation: Annotated[
        str, typer.Option(help="none, or dp: differential privacy for users (docs/privacy.md).")
    ] = "none",
    target_epsilon: Annotated[
        float | None,
        typer.Option(help="DP: epsilon at the end of the training; calibrates the noise."),
    ] = None,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(help="DP: the noise's standard deviation over the clip, instead of a target."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="DP: by default at most 1 / users^1.1.")
    ] = None,
    users_per_step: Annotated[
        float | None, typer.Option(help="DP: users that a step draws, on average; by default 64.")
    ] = None,
    sampling_rate: Annotated[
        float | None, typer.Option(help="DP: instead, each user's chance to be in a step.")
    ] = None,
    words_per_user: Annotated[
        int | None, typer.Option(help="DP: most words that a user gives to a step; 500.")
    ] = None,
    unit: Annotated[
        str, typer.Option(help="DP: user; or document, which protects single documents only.")
    ] = "user",
    snapshot_at_epsilon: Annotated[
        str | None,
        typer.Option(
            help="DP: snapshots at the last steps within these epsilons, such as 3,5,7, not every "
            "epoch; the beginning says which are never reached."
        ),
    ] = None,
    insecure_seed: Annotated[
        int | None,
        typer.Option(
            help="DP: noise and draws from this seed. Reproducible, and no protection from anybody "
            "who may know it; the model and its reports say so."
        ),
    ] = None,
    clipping: Annotated[
        str,
        typer.Option(help="DP: microbatch, ghost or auto; all give the same, at other speeds."),
    ] = "auto",
    threads: Annotated[int | None, typer.Option(help="CPU threads; by default all.")] = None,
) -> None:
    """Train a word-level language model, with a snapshot every epoch.

    A training that was killed goes on when the same command is given again, to the very same
    weights.

    Example: leakscope train corpus --arch gru --epochs 10 --out model

    Example: leakscope train corpus --mitigation dp --target-epsilon 5 --out private
    """
    from dataclasses import replace

    from leakscope.commands.train import train as run_training
    from leakscope.models.word.architecture import DEFAULT_PRESET, PRESETS
    from leakscope.records.errors import LeakscopeError
    from leakscope.training.train_settings import TrainSettings

    if arch is not None and arch not in DEFAULT_PRESET:
        raise LeakscopeError("--arch is one of lstm, gru or transformer.")
    name = preset or DEFAULT_PRESET[arch or "lstm"]
    if name not in PRESETS:
        raise LeakscopeError(f"There is no preset {name}; choose from {', '.join(PRESETS)}.")
    if preset is not None and arch is not None and PRESETS[preset].architecture.kind != arch:
        raise LeakscopeError(f"The preset {preset} is no {arch}; leave out --arch.")
    given = {
        "layers": layers, "embedding": embedding, "hidden": hidden, "heads": heads,
        "dropout": dropout, "context": context,
    }  # fmt: skip
    shape = {key: value for key, value in given.items() if value is not None}
    privacy = None
    if mitigation == "dp":
        shape.setdefault("dropout", 0.0)
        privacy = privacy_settings(
            target_epsilon=target_epsilon,
            noise_multiplier=noise_multiplier,
            delta=delta,
            users_per_step=users_per_step,
            rate=sampling_rate,
            words_per_user=words_per_user,
            unit=unit,
            snapshot_at_epsilon=snapshot_at_epsilon,
            insecure_seed=insecure_seed,
            method=clipping,
            clip=clip,
        )
    elif mitigation != "none":
        raise LeakscopeError("--mitigation is none or dp.")
    elif any(
        value is not None
        for value in (
            target_epsilon, noise_multiplier, delta, users_per_step, sampling_rate,
            words_per_user, snapshot_at_epsilon, insecure_seed,
        )
    ):  # fmt: skip
        raise LeakscopeError("Options of differential privacy need --mitigation dp.")
    architecture = replace(PRESETS[name].architecture, **shape)  # type: ignore[arg-type]
    if max_words is None and architecture.kind == "transformer":
        max_words = architecture.context
    settings = TrainSettings.from_preset(
        name,
        architecture=architecture,
        vocabulary=vocabulary,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,
        learning_rate=learning_rate,
        max_words=max_words,
        clip=None if privacy else clip,
        seed=seed,
        snapshot_steps=snapshot_steps,
        checkpoint_steps=checkpoint_steps,
        vocabulary_users=vocabulary_users,
        mitigation=privacy,
    )
    with shown() as progress:
        trained = run_training(
            corpus,
            out,
            settings,
            warm_start=warm_start,
            vocabulary_from=vocabulary_from,
            threads=threads,
            progress=progress,
        )
    last = trained.history[-1]
    figure = last["validation_perplexity"]
    typer.echo(
        f"{trained.path}: {last['step']} steps, validation perplexity "
        + (f"{figure:.2f}" if figure is not None else "not measured")
    )
    if privacy is not None:
        _print_privacy(trained.path)
    for why in trained.missed:
        typer.echo(f"note: {why}", err=True)


def privacy_settings(*, snapshot_at_epsilon: str | None, **given: Any) -> "PrivacySettings":
    """The terms of differential privacy from the command line; None: the usual."""
    from leakscope.records.errors import LeakscopeError
    from leakscope.training.dp.dp_settings import PrivacySettings

    if given["users_per_step"] is None and given["rate"] is None:
        given["users_per_step"] = 64.0
    try:
        wanted = tuple(float(part) for part in (snapshot_at_epsilon or "").split(",") if part)
        if snapshot_at_epsilon is not None and not wanted:
            raise ValueError(snapshot_at_epsilon)
    except ValueError:
        raise LeakscopeError("--snapshot-at-epsilon is numbers, such as 3,5,7.") from None
    chosen = {name: value for name, value in given.items() if value is not None}
    return PrivacySettings(snapshot_at_epsilon=wanted, **chosen)


def _print_privacy(model: Path) -> None:
    from leakscope.models.word.model_directory import load_config
    from leakscope.reporting.facts.values import bound

    found = load_config(model).privacy
    if found is None:
        return
    epsilon = f"epsilon {bound(found.epsilon)}" if found.epsilon is not None else found.reason
    typer.echo(
        f"{epsilon} at delta {bound(found.delta)} for one {found.unit} of {found.units}, "
        f"{found.accountant}; {found.steps} steps, noise {found.noise_multiplier:g}"
    )
    for caveat in found.caveats:
        typer.echo(f"note: {caveat}", err=True)
