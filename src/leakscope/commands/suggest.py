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
from leakscope.records.output_claim import new_file


@takes_options_of("suggest")
def suggest(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *settings: object,
    **options: Any,
) -> Suggestions:
    """An action list from a report; with `out`, also as a new JSON file."""
    asked = Given("suggest", settings, options).make(SuggestSettings)
    target = None if out is None else Path(out)
    if target is None:
        return suggest_actions(Path(run), asked.most)
    with new_file(target) as file:
        found = suggest_actions(Path(run), asked.most)
        write_json(file, asdict(found))
    return found
