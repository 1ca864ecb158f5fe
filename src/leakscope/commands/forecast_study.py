"""`study mitigations --dry-run` and `study updates --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.given import Given
from leakscope.commands.remote_paths import local_output
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.study_mitigations import study_job
from leakscope.commands.study_updates import update_study_job
from leakscope.records.runs.work_forecast import Forecast
from leakscope.studies.mitigation_directory import KIND as MITIGATIONS
from leakscope.studies.mitigation_forecast import mitigation_forecast
from leakscope.studies.updates.update_directory import KIND as UPDATES
from leakscope.studies.updates.update_forecast import update_forecast


@takes_options_of("study mitigations")
def study_mitigations(
    corpus: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """The steps of a study, those that are kept in `out`, and what the others would take."""
    given = Given("study mitigations", settings, options)
    job, place = study_job(corpus, given), local_output(out)
    if place is not None:
        MITIGATIONS.check(place)
    return mitigation_forecast(job, place)


@takes_options_of("study updates")
def study_updates(
    corpus: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """The steps of a study, those that are kept in `out`, and what the others would take."""
    given = Given("study updates", settings, options)
    job, place = update_study_job(corpus, given), local_output(out)
    if place is not None:
        UPDATES.check(place)
    return update_forecast(job, place)
