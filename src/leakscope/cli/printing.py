"""How results are printed: plain lines, whole tables, runs and comparisons."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakscope.cli.quantities import duration, size
from leakscope.records.user_groups import GROUP_USERS
from leakscope.storage.remote_address import with_urls

if TYPE_CHECKING:
    from rich.console import RenderableType

    from leakscope.records.runs.work_forecast import Forecast
    from leakscope.reporting.comparison.compared_runs import ComparedRun


def harmless(text: str) -> str:
    """Lines in which nothing steers a terminal: paths and manifests may come from anybody. Paths
    that stand for URLs are written as those.
    """
    text = with_urls(text)
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    from leakscope.reporting.facts.values import printable

    lines = [[printable(cell) for cell in line.split("\t")] for line in text.split("\n")]
    return "\n".join("\t".join(line) for line in lines)


def say(text: str) -> None:
    """A line on standard output."""
    sys.stdout.write(f"{harmless(text)}\n")
    sys.stdout.flush()


def tell(text: str) -> None:
    """A line on standard error: what is not the result itself."""
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


def say_json(data: Any) -> None:
    """Data as JSON on standard output."""
    say(json.dumps(data, indent=2, ensure_ascii=False))


def print_whole(table: "RenderableType") -> None:
    """Print a table as wide as it needs: one that is cut to fit would show wrong numbers, so
    rather let a narrow terminal wrap its lines.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    need = Measurement.get(console, console.options.update(max_width=400), table).maximum
    Console(width=max(console.width, need)).print(table)


def print_run(out: Path) -> None:
    """A report on the terminal, and where its page is."""
    from rich.console import Console

    from leakscope.records.runs.run_manifest import open_run
    from leakscope.reporting.rows.worst_sequence import named_in
    from leakscope.reporting.terminal.tables import run_table, sequences_table

    manifest, metrics = open_run(out)
    Console().print(run_table(manifest, metrics, named_in(out, manifest, metrics)))
    print_whole(sequences_table(out, 10))
    say(f"page: {out / 'report.html'}")


def warn_of(out: Path) -> None:
    """What is wrong with the run, its public model or the guarantee of a private training, on
    standard error.
    """
    from leakscope.records.runs.run_manifest import open_run
    from leakscope.reporting.facts.guarantee import guarantee_of, stamps

    manifest, metrics = open_run(out)
    public = manifest.public
    for warning in [
        *metrics.warnings,
        *metrics.notices,
        *([] if public is None else public.warnings),
        *(line for _, line in stamps(guarantee_of(manifest))),
    ]:
        tell(f"warning: {warning}")


def print_comparison(
    runs: "list[ComparedRun]", as_json: bool, group_users: int = GROUP_USERS
) -> None:
    """A comparison on the terminal, or its rows as JSON with warnings on standard error."""
    from leakscope.reporting.comparison.compared_runs import cautions, differences
    from leakscope.reporting.comparison.compared_table import compare_rows
    from leakscope.reporting.facts.values import printable

    if as_json:
        say_json(compare_rows(runs))
        for line in [*differences(runs), *cautions(runs)]:
            tell(f"warning: {printable(line)}")
        return
    from leakscope.reporting.comparison.disparate_impact import disparate_impact
    from leakscope.reporting.terminal.impact_table import impact_table
    from leakscope.reporting.terminal.tables import compare_table

    print_whole(compare_table(compare_rows(runs), [*differences(runs), *cautions(runs)]))
    impact = disparate_impact(runs)
    if impact is not None:
        print_whole(impact_table(impact, group_users))


def print_forecast(found: "Forecast", *, as_json: bool = False) -> None:
    """What a command would take: a line for each stage, and what it comes to."""
    if as_json:
        say(found.model_dump_json(indent=2))
        return
    for stage in found.stages:
        time = stage.reason if stage.seconds is None else f"about {duration(stage.seconds)}"
        say(f"{stage.name}: {stage.work}: {time}")
    least = "about" if found.whole else "at least about"
    sizes = [
        f"{name} about {size(value)}"
        for name, value in (("memory", found.memory), ("disk", found.disk))
        if value is not None
    ]
    say(f"in all: {', '.join([f'{least} {duration(found.seconds)}', *sizes])}")
    for note in found.notes:
        tell(f"note: {note}")
