"""`open_run`: a finished report, to be looked at from Python."""

import os

from leakscope.commands.remote_paths import reads_remote
from leakscope.reporting.opened_run import Run


@reads_remote
def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a run directory of `report`."""
    return Run.open(path)
