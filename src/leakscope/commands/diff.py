"""`diff`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import read_json
from leakscope.records.updates.diff_record import DiffReport
from leakscope.updates.diff_settings import DiffSettings

if TYPE_CHECKING:
    from leakscope.auditing.updates.diff_run import DiffJob


@takes_options_of("diff", again=lambda out: read_json(out / "diff.json", DiffReport, "a diff"))
def diff(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> DiffReport:
    """Find what the update from the model `old` to the model `new` gives away, and write
    `diff.json`, `found.parquet`, `scores.parquet` and a page into `out`.
    """
    given = Given("diff", settings, options)
    return diff_job(old, new, given).into(Path(out), progress)


def diff_job(old: str | os.PathLike[str], new: str | os.PathLike[str], given: Given) -> "DiffJob":
    """What was given, checked."""
    from leakscope.auditing.updates.diff_run import DiffJob

    asked = given.make(DiffSettings)
    loading = replace(given.make(LoadingSettings), threads=asked.threads)
    return DiffJob(os.fspath(old), os.fspath(new), asked, loading)
