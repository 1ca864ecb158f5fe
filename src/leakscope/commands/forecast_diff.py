"""`diff --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.diff import diff_job
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import free_output, local_output
from leakscope.commands.signatures import takes_options_of
from leakscope.records.runs.work_forecast import Forecast


@takes_options_of("diff")
def diff(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What a diff would take, from the beginning of its search. What a killed one has left in
    `out` is not counted again.
    """
    from leakscope.auditing.forecasting.diff_forecast import diff_forecast

    free_output(out, "diff")
    job = diff_job(old, new, Given("diff", settings, options))
    return diff_forecast(job, local_output(out))
