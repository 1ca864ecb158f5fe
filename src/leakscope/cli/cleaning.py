"""`leakscope corpus clean`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.progress import STARTS_OVER, shown

if TYPE_CHECKING:
    from leakscope.corpus.cleaning.clean_summary import CleanSummary, Removed
    from leakscope.corpus.manifest import SplitCounts


def clean(
    corpus: Annotated[
        Path, typer.Argument(help="The corpus directory to clean; it stays as it is.")
    ],
    out: Annotated[Path, typer.Option(help="The corpus directory to make.")],
    documents: Annotated[
        str,
        typer.Option(
            help="Remove duplicate documents: none, exact, or near (which includes exact)."
        ),
    ] = "none",
    sentences: Annotated[
        str,
        typer.Option(help="Remove sentences that an earlier document has: none or exact."),
    ] = "none",
    across_users: Annotated[
        bool,
        typer.Option(help="Also remove what another user said before, not only the same user."),
    ] = False,
    threshold: Annotated[
        float, typer.Option(help="How similar near duplicates are, from 0 to 1 (Jaccard).")
    ] = 0.8,
    shingle: Annotated[
        int, typer.Option(help="Compare near duplicates by so many words in a row.")
    ] = 5,
    min_words: Annotated[int, typer.Option(help="Sentences of fewer words may be said again.")] = 8,
    scrub: Annotated[
        list[str] | None,
        typer.Option(
            help="Replace by a placeholder: email, phone, card, account, address, url, ip, or all. "
            "May be repeated."
        ),
    ] = None,
    phone_region: Annotated[
        str | None,
        typer.Option(help="Find more of this country's phone numbers; a code such as SG."),
    ] = None,
    min_users: Annotated[
        int | None,
        typer.Option(help="Replace words that fewer users have in their training documents."),
    ] = None,
    presidio: Annotated[
        bool, typer.Option("--presidio", help="Also replace what presidio finds (an extra).")
    ] = False,
    presidio_model: Annotated[
        str | None,
        typer.Option(help="An installed spaCy pipeline, so that presidio finds names as well."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search for near duplicates.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what changed as JSON.")] = False,
) -> None:
    """Make a new corpus without duplicates, personal data or rare words; say what changed.

    Steps run in this order: documents, sentences, scrub, rare words. The first copy stays.
    Duplicates are removed from training documents only; every document keeps its split. The
    account of what each step changed is also in clean.json of the new corpus.

    Example: leakscope corpus clean corpus --documents near --across-users --scrub all
    --min-users 3 --out cleaned
    """
    from leakscope.commands.corpus import corpus_clean
    from leakscope.corpus.cleaning.clean_settings import CleanSettings

    settings = CleanSettings(
        documents=documents,  # type: ignore[arg-type]  # it checks
        sentences=sentences,  # type: ignore[arg-type]
        across_users=across_users,
        threshold=threshold,
        shingle=shingle,
        min_words=min_words,
        scrub=tuple(scrub or ()),  # type: ignore[arg-type]
        phone_region=phone_region,
        min_users=min_users,
        presidio=presidio,
        presidio_model=presidio_model,
        seed=seed,
    )
    with shown(STARTS_OVER) as progress:
        summary = corpus_clean(corpus, out, settings, progress=progress)
    if json:
        typer.echo(summary.model_dump_json(indent=2))
    else:
        _print_cleaned(summary)


def _print_cleaned(summary: "CleanSummary") -> None:
    lines = [
        ("training", _part(summary.before.train)),
        ("", f"{_part(summary.after.train)} left"),
        ("validation", f"{_part(summary.after.validation)} left"),
    ]
    if (found := summary.documents) is not None:
        lines.append(("documents", f"{_removed(found.exact)} exact duplicates removed"))
        if found.near is not None:
            lines.append(("", f"{_removed(found.near)} near duplicates removed"))
        lines.append(("", f"{found.users:,} users touched"))
    if (said := summary.sentences) is not None:
        lines += [
            ("sentences", f"{_removed(said.removed)} repeated ones removed"),
            (
                "",
                f"{said.documents:,} documents and {said.users:,} users touched, "
                f"{said.emptied:,} documents left empty and removed",
            ),
        ]
    if (hidden := summary.scrub) is not None:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in hidden.replaced.items())
        lines += [
            ("scrub", f"{kinds or 'nothing'} replaced"),
            ("", f"{hidden.documents:,} documents and {hidden.users:,} users touched"),
        ]
    if (rare := summary.rare_words) is not None:
        lines += [
            ("rare words", f"{rare.types:,} words replaced in {rare.tokens:,} places"),
            ("", f"{rare.documents:,} documents and {rare.users:,} users touched"),
        ]
    for name, value in lines:
        typer.echo(f"{name:<11} {value}")


def _removed(removed: "Removed") -> str:
    return f"{removed.total:,} ({removed.within:,} within a user, {removed.across:,} across)"


def _part(part: "SplitCounts") -> str:
    return f"{part.documents:,} documents, {part.words:,} words, {part.users:,} users"
