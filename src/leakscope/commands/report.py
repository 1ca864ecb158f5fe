"""`report`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import (
    EndpointAccess,
    InterfaceSettings,
    RunningSettings,
    UserChoice,
)
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.models.remote.endpoint import Endpoint, RequestLimits, is_address
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import locked
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.comparison.compare_page import refuse_foreign, write_comparison
from leakscope.reporting.comparison.compared_runs import ComparedRun, load_runs
from leakscope.reporting.opened_run import Run
from leakscope.reporting.pages.report_page import write_page
from leakscope.storage.remote_address import spelled

_ENDPOINTS_ONLY = ("text_only", "begin_mark", "answers", "max_requests")


@takes_options_of("report", again=Run.open)
def report(
    model: str | os.PathLike[str],
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> Run | list[ComparedRun]:
    """The training data leakage report of a model on the corpus that it was trained on, written
    into the run directory `out`. `settings` are settings objects (`leakscope.settings`), `options`
    single options by the names that the command line has. With `snapshots=True`: a run for every
    snapshot of the training, and their comparison.
    """
    given = Given("report", settings, options)
    job = report_job(model, corpus, given)
    running = job.running
    endpoint = given.make(Endpoint, url=os.fspath(model)) if is_address(os.fspath(model)) else None
    if running.snapshots:
        with locked(Path(out)):
            refuse_foreign(Path(out))
            runs = load_runs(job.report_snapshots(Path(model), Path(out), progress))
            write_comparison(runs, Path(out))
        return runs
    if endpoint is None:
        job.report(Path(model), Path(out), progress)
    else:
        access = given.make(EndpointAccess)
        limits = given.make(RequestLimits)
        if limits.key is None:
            limits = replace(limits, key=_key(access.api_key_env, in_clear=endpoint.in_clear))
        job.report_endpoint(endpoint, limits, access.answers, Path(out), progress)
    return Run.open(out)


def report_job(
    model: str | os.PathLike[str], corpus: str | os.PathLike[str], given: Given
) -> ReportJob:
    """What was given, checked."""
    asked, running = given.make(ReportSettings), given.make(RunningSettings)
    if is_address(os.fspath(model)):
        if not given.has("least_context"):  # it costs requests, as the next
            asked = replace(asked, least_context=0)
        if not given.has("validation_words"):
            asked = replace(asked, validation_words=0)
        if not given.has("decoy_words"):
            asked = replace(asked, decoy_words=0)
        if running.snapshots:
            raise LeakscopeError("An endpoint has no snapshots; leave out --snapshots.")
    elif any(name in given.options for name in _ENDPOINTS_ONLY):
        raise LeakscopeError(f"{model} is not the address of an endpoint (http:// or https://).")
    return ReportJob(
        Corpus.open(Path(corpus)),
        asked,
        public=given.make(PublicSettings),
        loading=given.make(LoadingSettings),
        running=running,
        block_list=given.make(InterfaceSettings).block_list,
        chosen=given.make(UserChoice).users,
        options={"model": spelled(model), "corpus": spelled(corpus)} | given.as_plain(),
        page=write_page,
    ).prepared()


def _key(name: str | None, *, in_clear: bool) -> str | None:
    """The endpoint's key. One that was meant for another server is not sent in clear."""
    if name is None and in_clear:
        return None
    return os.environ.get(name or "OPENAI_API_KEY", "").strip() or None
