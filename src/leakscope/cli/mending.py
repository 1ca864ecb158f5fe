"""`leakscope harden` and `leakscope suggest`."""

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli.progress import STARTS_OVER, shown

if TYPE_CHECKING:
    from leakscope.leakage.hardening.actions import Suggestions


def harden(
    run: Annotated[Path, typer.Argument(help="A run directory of leakscope report.")],
    corpus: Annotated[Path, typer.Option(help="The corpus that the report was made on.")],
    out: Annotated[Path, typer.Option(help="The directory to make.")],
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            help="Be silent where 1/p of the best suggestion exceeds it. May be repeated."
        ),
    ] = None,
    block_list_rate: Annotated[
        float, typer.Option(help="Share of innocent word sequences that the block list may hit.")
    ] = 0.001,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            help="Another run whose unique sequences the list is to block, such as one made with "
            "--block-list: what was hidden lets other words move up. May be repeated."
        ),
    ] = None,
    no_block_list: Annotated[bool, typer.Option(help="Make no block list.")] = False,
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print the points as JSON.")] = False,
) -> None:
    """What a stricter interface would leave of the leakage, and what it would cost in use.

    Curves over confidence thresholds and over the number of suggestions, from the probabilities
    that the report stored, without the model; and a block list of the shortest unique sequences.

    Example: leakscope harden run --corpus corpus --out hardened
    """
    from leakscope.commands.harden import BLOCK_LIST
    from leakscope.commands.harden import harden as work
    from leakscope.leakage.hardening.hardened_points import THRESHOLDS
    from leakscope.records.run import open_run
    from leakscope.reporting.facts.guarantee import guarantee_of, stamp

    with shown(STARTS_OVER) as progress:
        points = work(
            run,
            corpus,
            out,
            thresholds=tuple(threshold) if threshold else THRESHOLDS,
            rate=None if no_block_list else block_list_rate,
            also=also or (),
            threads=threads,
            progress=progress,
        )
    rows = [asdict(point) for point in points]
    if json:
        typer.echo(json_module.dumps(rows, indent=2))
    else:
        from leakscope.cli.wide import print_whole
        from leakscope.reporting.terminal.tables import hardening_table

        print_whole(hardening_table(rows))
    for line in stamp(guarantee_of(open_run(run)[0])):
        typer.echo(f"warning: {line}", err=True)
    typer.echo(f"page: {out / 'harden.html'}", err=json)
    if (out / BLOCK_LIST).exists():
        typer.echo(f"block list: {out / BLOCK_LIST}", err=json)


def suggest(
    run: Annotated[Path, typer.Argument(help="A run directory of leakscope report.")],
    out: Annotated[Path | None, typer.Option(help="Write the list as JSON to this file.")] = None,
    most: Annotated[int, typer.Option(help="Actions of each kind.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """An action list from a report: documents to remove, users to review, copies to collapse.

    Example: leakscope suggest run --most 10
    """
    from leakscope.commands.harden import suggest as work
    from leakscope.records.errors import LeakscopeError

    if most < 1:
        raise LeakscopeError("--most must be at least 1.")
    found = work(run, out, most=most)
    if json:
        typer.echo(json_module.dumps(asdict(found), indent=2, ensure_ascii=False))
        return
    _print(found)


def _print(found: "Suggestions") -> None:
    from leakscope.cli.wide import print_whole
    from leakscope.reporting.terminal.tables import suggestion_tables

    print_whole(suggestion_tables(asdict(found)))
