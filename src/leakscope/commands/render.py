"""`render`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import RenderSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.store import Corpus
from leakscope.leakage.rendering.rendered_run import render_run
from leakscope.reporting.opened_run import Run
from leakscope.reporting.pages.report_page import write_page


@takes_options_of("render")
def render(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    **options: Any,
) -> Run:
    """Write a finished run again into the directory `out`, redacted or revealed, without its
    model. The numbers stay the same.
    """
    asked = Given("render", settings, options).make(RenderSettings)
    corpus = None if asked.corpus is None else Corpus.open(asked.corpus)
    render_run(Path(run), Path(out), corpus, write_page)
    return Run.open(out)
