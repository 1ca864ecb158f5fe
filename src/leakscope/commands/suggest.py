"""`suggest`."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import SuggestSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.leakage.hardening.actions import Suggestions
from leakscope.leakage.hardening.actions import suggest as suggest_actions
from leakscope.records.artifacts import write_json
from leakscope.records.errors import LeakscopeError


@takes_options_of("suggest")
def suggest(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *settings: object,
    **options: Any,
) -> Suggestions:
    """An action list from a report; with `out`, also as a JSON file."""
    asked = Given("suggest", settings, options).make(SuggestSettings)
    target = None if out is None else Path(out)
    if target is not None and (target.is_dir() or not target.parent.is_dir()):
        raise LeakscopeError(f"{target} cannot be written; name a file in a folder that is there.")
    found = suggest_actions(Path(run), asked.most)
    if target is not None:
        write_json(target, asdict(found))
    return found
