"""Studies, as functions: `leakscope.study.mitigations` and `leakscope.study.updates` are the
commands of these names. They are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.study_mitigations import mitigations
    from leakscope.commands.study_updates import updates

__all__ = ["mitigations", "updates"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"leakscope.commands.study_{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
