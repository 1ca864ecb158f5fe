"""Forecasts, as functions: `leakscope.forecast.train` and the others say what the commands of these
names would take (`--dry-run`). They are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.forecast_canary import canary_attack, canary_exposure
    from leakscope.commands.forecast_corpus import corpus_build, corpus_clean
    from leakscope.commands.forecast_diff import diff
    from leakscope.commands.forecast_report import report
    from leakscope.commands.forecast_study import study_mitigations, study_updates
    from leakscope.commands.forecast_train import train

__all__ = [
    "canary_attack", "canary_exposure", "corpus_build", "corpus_clean", "diff", "report",
    "study_mitigations", "study_updates", "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = f"leakscope.commands.forecast_{name.partition('_')[0]}"
        return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
