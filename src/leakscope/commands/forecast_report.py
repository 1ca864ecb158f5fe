"""`report --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.forecasting.report_forecast import report_forecast
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import local_output
from leakscope.commands.report import report_job
from leakscope.commands.signatures import takes_options_of
from leakscope.models.remote.endpoint import is_address
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import Forecast
from leakscope.reporting.comparison.compare_page import refuse_foreign


@takes_options_of("report")
def report(
    model: str | os.PathLike[str],
    corpus: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What a report would take, from a sample of the documents that the model scores. `out`: where
    a killed one may have left something.
    """
    if is_address(os.fspath(model)):
        raise LeakscopeError("To ask an endpoint costs requests; a dry run sends none.")
    given = Given("report", settings, options)
    job, place = report_job(model, corpus, given), local_output(out)
    if place is not None and job.running.snapshots:
        refuse_foreign(place)
    return report_forecast(job, Path(model), place)
