"""leakscope measures, per user, what a language model gives away of its training data.

    import leakscope

    leakscope.corpus.build("chat.parquet", "corpus")
    leakscope.train("corpus", "model", arch="gru")
    run = leakscope.report("model", "corpus", "run", top_k=3)
    run.metrics.unique_sequences, run.sequences().to_pandas(), run.page

Every command of the command line is a function here, with the same options by the same names
(`top_k` for `--top-k`). Options can also be given as settings objects; their classes are in
`leakscope.settings`. Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope import canary, corpus, forecast, settings, study
    from leakscope.auditing.callback import LeakageCallback
    from leakscope.commands.compare import compare
    from leakscope.commands.demo import demo
    from leakscope.commands.diff import diff
    from leakscope.commands.export import export
    from leakscope.commands.harden import harden
    from leakscope.commands.open_run import open_run
    from leakscope.commands.person import person
    from leakscope.commands.probe import probe
    from leakscope.commands.render import render
    from leakscope.commands.report import report
    from leakscope.commands.suggest import suggest
    from leakscope.commands.train import train
    from leakscope.commands.verify import verify
    from leakscope.records.errors import LeakscopeError
    from leakscope.training.dp.custom_loop.make_private import make_private

    __version__: str

_HOMES = {
    "LeakageCallback": "auditing.callback",
    "LeakscopeError": "records.errors",
    "compare": "commands.compare",
    "demo": "commands.demo",
    "diff": "commands.diff",
    "export": "commands.export",
    "harden": "commands.harden",
    "make_private": "training.dp.custom_loop.make_private",
    "open_run": "commands.open_run",
    "person": "commands.person",
    "probe": "commands.probe",
    "render": "commands.render",
    "report": "commands.report",
    "suggest": "commands.suggest",
    "train": "commands.train",
    "verify": "commands.verify",
}

__all__ = [
    "LeakageCallback",
    "LeakscopeError",
    "__version__",
    "canary",
    "compare",
    "corpus",
    "demo",
    "diff",
    "export",
    "forecast",
    "harden",
    "make_private",
    "open_run",
    "person",
    "probe",
    "render",
    "report",
    "settings",
    "study",
    "suggest",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("leakscope")
    if name in ("canary", "corpus", "forecast", "settings", "study"):
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
