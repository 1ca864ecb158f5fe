"""`leakscope corpus build`."""

from pathlib import Path

from leakscope.cli.command import DRY_RUN, Argument, Asked, Command
from leakscope.cli.corpus_info import print_corpus
from leakscope.cli.printing import print_forecast


def build(asked: Asked) -> None:
    """Build a corpus from (user, text) rows of any size; memory does not grow with it.

    If it is interrupted, the same command goes on from what it has finished.

    Rows without a user, without text, or with invalid UTF-8 are set aside, counted and reported.

    Example: leakscope corpus build chat.parquet --user-column nick --out corpus
    """
    from leakscope.commands.corpus_build import build as work

    if asked["dry_run"]:
        from leakscope.commands.forecast_corpus import corpus_build as forecast

        found = forecast(asked["inputs"], out=asked["out"], **asked.options)
        print_forecast(found, as_json=asked["json"])
        return
    with asked.progress() as progress:
        manifest = work(asked["inputs"], asked["out"], progress=progress, **asked.options)
    print_corpus(manifest, asked["json"])


command = Command(
    "corpus build",
    build,
    arguments=(
        Argument(
            "inputs",
            list[Path],
            "Files or folders: JSONL (.gz, .zst), CSV, Parquet, Arrow or a folder saved by "
            "datasets, mbox, maildir, Reddit dumps, or a git repository.",
        ),
    ),
    own=(
        Argument("out", Path, "The corpus directory to make."),
        Argument("json", bool, "Print the manifest and the warnings as JSON.", default=False),
        DRY_RUN,
    ),
)
