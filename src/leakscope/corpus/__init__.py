"""Corpora of user-keyed text: words, lexicon, shards on disk, and how they are made.

`leakscope.corpus.build`, `clean`, `info`, `show` and `synth` are the commands of these names. They
are imported when they are first asked for, and by callers from outside only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.corpus_build import build
    from leakscope.commands.corpus_clean import clean
    from leakscope.commands.corpus_info import info
    from leakscope.commands.corpus_show import show
    from leakscope.commands.corpus_synth import synth

__all__ = ["build", "clean", "info", "show", "synth"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"leakscope.commands.corpus_{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
