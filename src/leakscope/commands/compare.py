"""`compare`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import CompareSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.records.output_claim import locked
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import ComparedRun, load_runs


@takes_options_of("compare")
def compare(
    runs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *settings: object,
    **options: Any,
) -> list[ComparedRun]:
    """Runs, or folders that hold several, side by side; with `out`, also as a page and as JSON."""
    asked = Given("compare", settings, options).make(CompareSettings)
    paths = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    found = load_runs([Path(path) for path in paths], allow_mixed=asked.allow_mixed)
    if out is not None:
        with locked(Path(out)):
            write_comparison(found, Path(out), asked.group_users)
    return found
