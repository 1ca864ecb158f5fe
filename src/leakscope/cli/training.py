"""`leakscope train`."""

from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli.progress import shown


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
    clip: Annotated[float, typer.Option(help="Largest norm of a step's gradient.")] = 5.0,
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
    threads: Annotated[int | None, typer.Option(help="CPU threads; by default all.")] = None,
) -> None:
    """Train a word-level language model, with a snapshot every epoch.

    A training that was killed goes on when the same command is given again, to the very same
    weights.

    Example: leakscope train corpus --arch gru --epochs 10 --out model
    """
    from dataclasses import replace

    from leakscope import commands
    from leakscope.models.architecture import DEFAULT_PRESET, PRESETS
    from leakscope.records.errors import LeakscopeError
    from leakscope.training.settings import TrainSettings

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
        clip=clip,
        seed=seed,
        snapshot_steps=snapshot_steps,
        checkpoint_steps=checkpoint_steps,
    )
    with shown() as progress:
        trained = commands.train(
            corpus, out, settings, warm_start=warm_start, threads=threads, progress=progress
        )
    last = trained.history[-1]
    figure = last["validation_perplexity"]
    typer.echo(
        f"{trained.path}: {last['step']} steps, validation perplexity "
        + (f"{figure:.2f}" if figure is not None else "not measured")
    )
