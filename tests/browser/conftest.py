"""The browser opens the same small runs that the tests of the report write."""

from report_runs import make_run, make_snapshots

__all__ = ["make_run", "make_snapshots"]
