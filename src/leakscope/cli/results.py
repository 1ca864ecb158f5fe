"""`leakscope compare`, and how results are printed."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from leakscope.auditing.gates import Gate
    from leakscope.records.run import Metrics
    from leakscope.reporting.comparison.compared_runs import ComparedRun
    from leakscope.reporting.facts.guarantee import Guarantee


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Run directories, or folders that hold several.")
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write the page and the JSON.")] = None,
    allow_mixed: Annotated[
        bool, typer.Option(help="Compare even runs on other corpora or with another top-k.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Runs side by side: perplexity, accuracy, unique sequences, leakage epsilon.

    Example: leakscope compare runs/plain runs/dp --out comparison
    """
    from leakscope.commands.report import compare as work

    found = work(runs, out, allow_mixed=allow_mixed)
    print_comparison(found, json)
    if out is not None:
        typer.echo(f"page: {out / 'compare.html'}", err=json)


def warn_of(out: Path) -> None:
    """What is wrong with the public model or with the noise of a private training, on standard
    error.
    """
    from leakscope.records.run import open_run
    from leakscope.reporting.facts.guarantee import guarantee_of, stamp

    manifest = open_run(out)[0]
    public = manifest.public
    for warning in [
        *([] if public is None else public.warnings),
        *stamp(guarantee_of(manifest)),
    ]:
        typer.echo(f"warning: {warning}", err=True)


def print_run(out: Path) -> None:
    """A report on the terminal, and where its page is."""
    from rich.console import Console

    from leakscope.cli.wide import print_whole
    from leakscope.records.run import open_run
    from leakscope.reporting.terminal.tables import run_table, sequences_table

    Console().print(run_table(*open_run(out)))
    print_whole(sequences_table(out, 10))
    typer.echo(f"page: {out / 'report.html'}")


def print_comparison(runs: "list[ComparedRun]", as_json: bool) -> None:
    """A comparison on the terminal, or its rows as JSON with warnings on standard error."""
    from leakscope.reporting.comparison.compared_runs import cautions, differences
    from leakscope.reporting.comparison.compared_table import compare_rows
    from leakscope.reporting.facts.values import printable

    if as_json:
        typer.echo(json_module.dumps(compare_rows(runs), indent=2, ensure_ascii=False))
        for line in [*differences(runs), *cautions(runs)]:
            typer.echo(f"warning: {printable(line)}", err=True)
        return
    from leakscope.cli.wide import print_whole
    from leakscope.reporting.terminal.tables import compare_table

    print_whole(compare_table(compare_rows(runs), [*differences(runs), *cautions(runs)]))


def check_gates(gates: "list[Gate]", measured: "dict[str, tuple[Metrics, Guarantee]]") -> None:
    """Exit with code 1 if a gate holds for a run."""
    failed = False
    for where, (metrics, guarantee) in measured.items():
        for gate in gates:
            value = gate.value(metrics, guarantee)
            if gate.holds(metrics, guarantee):
                failed = True
                typer.echo(f"gate: {gate.text} holds for {where}: it is {value:g}", err=True)
    if failed:
        raise typer.Exit(1)
