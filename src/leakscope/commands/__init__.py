"""One Python function for each command; groups of options are settings objects.

    from leakscope.commands import corpus_build, train, report

The functions are imported when they are first asked for, so that a command loads only what it
uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.commands.audits import compare, report
    from leakscope.commands.corpora import (
        corpus_build,
        corpus_clean,
        corpus_info,
        corpus_synth,
    )
    from leakscope.commands.hardening import harden, suggest
    from leakscope.commands.probing import probe
    from leakscope.commands.story import demo
    from leakscope.commands.trainings import train

_HOMES = {
    "compare": "audits",
    "corpus_build": "corpora",
    "corpus_clean": "corpora",
    "corpus_info": "corpora",
    "corpus_synth": "corpora",
    "demo": "story",
    "harden": "hardening",
    "probe": "probing",
    "report": "audits",
    "suggest": "hardening",
    "train": "trainings",
}

__all__ = [
    "compare",
    "corpus_build",
    "corpus_clean",
    "corpus_info",
    "corpus_synth",
    "demo",
    "harden",
    "probe",
    "report",
    "suggest",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
