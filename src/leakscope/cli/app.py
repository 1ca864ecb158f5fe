"""The command line's entry point. Heavy modules are imported by the command that needs them."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli import audit, corpus, mending, results, story, training

app = typer.Typer(
    name="leakscope",
    help="Measure, per user, what a language model gives away of its training data.",
    epilog="Start with: leakscope demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # they print local variables, which may hold training text
    rich_markup_mode=None,
)
app.command("demo")(story.demo)
app.add_typer(corpus.app, name="corpus")
app.command("train")(training.train)
app.command("report")(audit.report)
app.command("compare")(results.compare)
app.command("harden")(mending.harden)
app.command("suggest")(mending.suggest)
app.command("probe")(story.probe)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"leakscope {version('leakscope')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; errors that a user can mend become one sentence and exit code 2."""
    from leakscope.cli.progress import WorkInterruptedError
    from leakscope.records.errors import LeakscopeError

    # OpenMP threads that wait by spinning make everything ten times slower when another process
    # has a core; to spin for a moment only is as fast when none has (docs/experiments.md).
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        app()
    except LeakscopeError as error:
        _fail(str(error), 2)
    except WorkInterruptedError as interruption:
        _fail(f"Interrupted; {interruption}.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no second complaint
        raise SystemExit(1) from None
    except MemoryError:
        _fail("Out of memory; give fewer --workers or a smaller model.", 2)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{error.strerror or 'The disk or network failed'}{where}; mend it and try again.", 2)
    except Exception as error:
        if os.environ.get("LEAKSCOPE_TRACEBACK"):
            raise
        # Neither the message nor the local variables: both may hold training text.
        last = traceback.extract_tb(error.__traceback__)[-1]
        _fail(
            f"Unexpected {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}; "
            "please report it, with the traceback that LEAKSCOPE_TRACEBACK=1 shows if it holds "
            "nothing private.",
            2,
        )


def _fail(message: str, code: int) -> None:
    typer.echo(f"leakscope: {message}", err=True)
    raise SystemExit(code)
