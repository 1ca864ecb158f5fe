from report_runs import make_run, make_snapshots

__all__ = ["make_run", "make_snapshots"]
