"""A run, opened from Python."""

import pyarrow as pa
import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.opened_run import Run


def test_a_run_has_its_numbers_and_tables(make_run):
    path = make_run(name="<b>bold</b>", validation_perplexity=None, train_perplexity=12.5)
    run = Run.open(str(path))
    assert run == Run.open(path) and (run.manifest, run.metrics) == open_run(path)
    assert run.path == path and run.page == path / "report.html"
    for table in (run.sequences(), run.users()):
        assert isinstance(table, pa.Table) and len(table)
    assert f"{run.metrics.unique_sequences} unique sequences" in repr(run)


def test_a_notebook_shows_an_escaped_table(make_run):
    shown = Run.open(make_run(name="<b>bold</b>", train_perplexity=12.5))._repr_html_()
    assert "<b>" not in shown and "&lt;b&gt;bold" in shown
    assert "<th>train perplexity</th><td>12.5</td>" in shown
    assert "None" not in shown


def test_what_is_no_run_is_one_sentence(tmp_path):
    with pytest.raises(LeakscopeError, match="not a run directory"):
        Run.open(str(tmp_path / "nothing"))
