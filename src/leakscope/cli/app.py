"""The command line's entry point. Heavy modules are imported by the command that needs them."""

import atexit
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path

from cyclopts import App, CycloptsError

from leakscope.cli.config_file import from_config_file
from leakscope.cli.remote_arguments import place_urls
from leakscope.cli.wrong_usage import sentence

COMMANDS = (
    "demo", "corpus build", "corpus clean", "corpus info", "corpus show", "corpus synth", "train",
    "report", "compare", "person", "render", "harden", "suggest", "diff", "probe", "canary plant",
    "canary exposure", "canary attack", "canary bound", "study mitigations", "study updates",
    "export", "verify", "completion",
)  # fmt: skip
"""Each is in the file of its name, such as `corpus_build.py`."""


def make_app() -> App:
    """All commands. Their options are read when one of them is asked for."""
    app = App(
        name="leakscope",
        help="Measure, per user, what a language model gives away of its training data.\n\n"
        "Start with: leakscope demo",
        help_format="plaintext",
        version=_version,
        config=[from_config_file, place_urls],
        suppress_keyboard_interrupt=False,
    )
    corpus = App(name="corpus", help="Build and inspect corpora of user-keyed text.", sort_key=1)
    canary = App(name="canary", help="Plant canaries, and measure what a model kept of them.")
    app.command(corpus)
    study = App(name="study", help="Whole comparisons, of many trainings and measurements.")
    app.command(canary)
    app.command(study)
    groups = {"corpus": corpus, "canary": canary, "study": study}
    for place, command in enumerate(COMMANDS):
        module = f"leakscope.cli.{command.replace(' ', '_')}"
        parent = groups.get(command.partition(" ")[0], app)
        told = import_module(module).command.__doc__
        parent.command(f"{module}:command", name=command.split()[-1], help=told, sort_key=place)
    return app


def main() -> None:
    """Run a command; errors that a user can mend become one sentence and exit code 2."""
    from leakscope.cli.progress_bars import WorkInterruptedError
    from leakscope.records.errors import LeakscopeError

    # OpenMP threads that wait by spinning make everything ten times slower when another process
    # has a core; to spin for a moment only is as fast when none has (docs/experiments.md).
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        make_app()(
            sys.argv[1:], print_error=False, exit_on_error=False, result_action="return_value"
        )
    except LeakscopeError as error:
        _fail(str(error), 2)
    except CycloptsError as error:
        _fail(sentence(error), 2)
    except WorkInterruptedError as interruption:
        _interrupted(f"Interrupted; {interruption}.")
    except KeyboardInterrupt:
        _interrupted("Interrupted.")
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
        _fail(_unexpected(error), 2)
    raise SystemExit(0)


def _version() -> str:
    from importlib.metadata import version

    return f"leakscope {version('leakscope')}"


def _unexpected(error: Exception) -> str:
    """Where it happened, without the message or local variables: both may hold training text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"Unexpected {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}; "
        "please report it, with the traceback that LEAKSCOPE_TRACEBACK=1 shows if it holds "
        "nothing private."
    )


def _interrupted(message: str) -> None:
    """Fail with the code of Ctrl-C, and let no further one disturb the interpreter at its end."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    _fail(message, 130)


def _fail(message: str, code: int) -> None:
    from leakscope.cli.printing import tell

    tell(f"leakscope: {message}")
    raise SystemExit(code)
