"""The browser opens the same small runs that the tests of the report write."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "report"))

from report_runs import make_run, make_snapshots

__all__ = ["make_run", "make_snapshots"]
