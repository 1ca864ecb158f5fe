"""`leakscope corpus clean`."""

from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.corpus_info import part_of
from leakscope.cli.printing import print_forecast, say

if TYPE_CHECKING:
    from leakscope.corpus.cleaning.clean_summary import CleanSummary, Removed


def clean(asked: Asked) -> None:
    """Make a new corpus without what lists drop, duplicates, personal data or rare words; say what
    changed.

    Steps run in this order: drop, documents, sentences, scrub, rare words. The first copy stays.
    Duplicates are removed from training documents only; every document keeps its split. The
    account of what each step changed is also in clean.json of the new corpus.

    Example: leakscope corpus clean corpus --documents near --across-users --scrub all
    --min-users 3 --out cleaned
    """
    from leakscope.commands.corpus_clean import clean as work

    if asked["dry_run"]:
        from leakscope.commands.forecast_corpus import corpus_clean as forecast

        found = forecast(asked["corpus"], out=asked["out"], **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        summary = work(asked["corpus"], asked["out"], progress=progress, **asked.options)
    if asked["json"]:
        say(summary.model_dump_json(indent=2))
    else:
        _print_cleaned(summary)


def _print_cleaned(summary: "CleanSummary") -> None:
    lines = [
        ("training", part_of(summary.before.train)),
        ("", f"{part_of(summary.after.train)} left"),
        ("validation", f"{part_of(summary.after.validation)} left"),
    ]
    if (listed := summary.dropped) is not None:
        total = listed.named + listed.of_named_users
        lines += [
            (
                "dropped",
                f"{total:,} documents: {listed.named:,} listed, {listed.of_named_users:,} more of "
                f"{listed.named_users:,} listed users",
            ),
            ("", f"{listed.users:,} users touched; {listed.left:,} listed actions left to people"),
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
        say(f"{name:<11} {value}")


def _removed(removed: "Removed") -> str:
    return f"{removed.total:,} ({removed.within:,} within a user, {removed.across:,} across)"


command = Command(
    "corpus clean",
    clean,
    arguments=(Argument("corpus", Path, "The corpus directory to clean; it stays as it is."),),
    own=(
        Argument("out", Path, "The corpus directory to make."),
        Argument("json", bool, "Print what changed as JSON.", default=False),
        DRY_RUN,
    ),
)
