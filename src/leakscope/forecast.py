"""Forecasts, as functions: `leakscope.forecast.train` and `leakscope.forecast.report` say what the
commands of these names would take (`--dry-run`). They are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.forecast_report import report
    from leakscope.commands.forecast_train import train

__all__ = ["report", "train"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"leakscope.commands.forecast_{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
