"""Training of word-level models, and private training of any.

    from leakscope.training import PrivacySettings, make_private

The names are imported when they are first asked for: the accountant is an extra, and takes a while.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.training.dp.accounting.dp_event import dp_event
    from leakscope.training.dp.clipping.module_clipper import TokenRows, next_token_loss
    from leakscope.training.dp.custom_loop.make_private import LoopOptions, make_private
    from leakscope.training.dp.custom_loop.private_loop import PrivateLoop, PrivateStep
    from leakscope.training.dp.dp_settings import PrivacySettings

_HOMES = {
    "LoopOptions": "dp.custom_loop.make_private",
    "PrivacySettings": "dp.dp_settings",
    "PrivateLoop": "dp.custom_loop.private_loop",
    "PrivateStep": "dp.custom_loop.private_loop",
    "TokenRows": "dp.clipping.module_clipper",
    "dp_event": "dp.accounting.dp_event",
    "make_private": "dp.custom_loop.make_private",
    "next_token_loss": "dp.clipping.module_clipper",
}

__all__ = [
    "LoopOptions",
    "PrivacySettings",
    "PrivateLoop",
    "PrivateStep",
    "TokenRows",
    "dp_event",
    "make_private",
    "next_token_loss",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
