"""Studies, as functions: `leakscope.study.mitigations` is the command of this name. They are
imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.study_mitigations import mitigations

__all__ = ["mitigations"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"leakscope.commands.study_{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
