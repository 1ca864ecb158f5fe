"""`leakscope corpus`: build, clean, info, synth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.cleaning import clean
from leakscope.cli.progress import STARTS_OVER, shown

if TYPE_CHECKING:
    from leakscope.corpus.manifest import CorpusManifest, SplitCounts

app = typer.Typer(
    help="Build and inspect corpora of user-keyed text.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("build")
def build(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders: JSONL (.gz, .zst), CSV, Parquet, Arrow or a folder saved by "
            "datasets, mbox, maildir, Reddit dumps, or a git repository."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The corpus directory to make.")],
    user_column: Annotated[str, typer.Option(help="Column or key with the user.")] = "user",
    text_column: Annotated[str, typer.Option(help="Column or key with the text.")] = "text",
    format: Annotated[
        str | None,
        typer.Option(
            help="jsonl, csv, parquet, arrow, mbox, maildir, reddit or git; guessed if not given."
        ),
    ] = None,
    lowercase: Annotated[bool, typer.Option(help="Lower-case all words.")] = False,
    order: Annotated[
        str,
        typer.Option(help="Number words by 'frequency' or by how many 'users' use them."),
    ] = "frequency",
    validation: Annotated[float, typer.Option(help="Share of documents held out.")] = 0.1,
    split_by: Annotated[
        str, typer.Option(help="Hold out by 'document' or by 'user'.")
    ] = "document",
    seed: Annotated[int, typer.Option(help="Of the split.")] = 0,
    max_characters: Annotated[
        int, typer.Option(help="Longer documents are set aside.")
    ] = 1_000_000,
    shard_words: Annotated[
        int,
        typer.Option(help="Words in a shard, about; shards are worked on in parallel."),
    ] = 2_000_000,
    json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Build a corpus from (user, text) rows of any size; memory does not grow with it.

    Rows without a user, without text, or with invalid UTF-8 are set aside, counted and reported.

    Example: leakscope corpus build chat.parquet --user-column nick --out corpus
    """
    from leakscope.commands.corpus import corpus_build
    from leakscope.corpus.build_settings import BuildSettings
    from leakscope.corpus.readers.input_settings import InputSettings

    settings = BuildSettings(
        lowercase=lowercase,
        order=order,  # type: ignore[arg-type]  # it checks
        validation=validation,
        split_by=split_by,  # type: ignore[arg-type]
        seed=seed,
        max_characters=max_characters,
        shard_words=shard_words,
    )
    with shown(STARTS_OVER) as progress:
        manifest = corpus_build(
            inputs,
            out,
            input_settings=InputSettings(user_column, text_column, format),
            settings=settings,
            progress=progress,
        )
    _print(manifest, json)


app.command("clean")(clean)


@app.command("info")
def info(
    corpus: Annotated[Path, typer.Argument(help="A corpus directory.")],
    json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Users, documents, words, lexicon, documents per user, and what was set aside and why."""
    from leakscope.commands.corpus import corpus_info

    _print(corpus_info(corpus), json)


@app.command("synth")
def synth(
    out: Annotated[Path, typer.Option(help="The directory for data.parquet and truth.parquet.")],
    users: Annotated[
        int | None, typer.Option(help="How many users; by default 40, or as --words needs.")
    ] = None,
    words: Annotated[int | None, typer.Option(help="About how many words in all.")] = None,
    coined: Annotated[
        int, typer.Option(help="A long tail of so many coined words, for a large lexicon.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Same seed, same text.")] = 0,
) -> None:
    """Make a synthetic corpus whose secrets, owners and repetitions are known.

    Example: leakscope corpus synth --users 20 --out synth
    """
    from leakscope.commands.corpus import corpus_synth
    from leakscope.corpus.synthetic.synth_settings import SynthSettings

    with shown(STARTS_OVER) as progress:
        made = corpus_synth(
            out,
            SynthSettings(users=users, words=words, seed=seed, coined=coined),
            progress=progress,
        )
    if words is not None and made.words > 1.5 * words:
        typer.echo(f"{made.words} words is the least for {made.users} users' planted items.")
    typer.echo(
        f"{out}: {made.users} users, {made.documents} documents, {made.words} words, "
        f"{made.planted} planted items"
    )


def _print(manifest: "CorpusManifest", as_json: bool) -> None:
    if as_json:
        typer.echo(manifest.model_dump_json(indent=2))
        return
    train, held = manifest.train, manifest.validation
    spread = manifest.documents_per_user
    lines = [
        ("users", f"{manifest.users:,}"),
        (
            "training",
            _part(train),
        ),
        ("validation", _part(held)),
        ("lexicon", f"{manifest.lexicon:,} words, by {manifest.settings['order']}"),
        (
            "per user",
            ", ".join(f"{name} {value:.4g}" for name, value in spread.items()) + " documents",
        ),
        ("shards", f"{len(manifest.shards)}"),
        (
            "set aside",
            ", ".join(f"{count:,} {reason}" for reason, count in manifest.set_aside.items())
            or "nothing",
        ),
        ("digest", manifest.digest),
    ]
    for name, value in lines:
        typer.echo(f"{name:<11} {value}")


def _part(part: "SplitCounts") -> str:
    return f"{part.documents:,} documents, {part.words:,} words, {part.users:,} users"
