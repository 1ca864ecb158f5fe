"""Canaries, as functions: `leakscope.canary.plant`, `exposure`, `attack` and `bound` are the
commands of these names. They are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.canary_attack import attack
    from leakscope.commands.canary_bound import bound
    from leakscope.commands.canary_exposure import exposure
    from leakscope.commands.canary_plant import plant

__all__ = ["attack", "bound", "exposure", "plant"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"leakscope.commands.canary_{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
