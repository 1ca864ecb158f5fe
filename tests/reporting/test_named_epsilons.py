"""The sequences that set epsilons are named wherever these stand."""

from io import StringIO

import pytest
from rich.console import Console

from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compared_runs import load_runs
from leakscope.reporting.comparison.compared_table import cell, compare_rows
from leakscope.reporting.facts.chance_facts import set_by
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.rows.worst_sequence import named_in
from leakscope.reporting.terminal.tables import run_table
from report_runs import METRICS, PUBLIC, judged_rows

EPSILONS = {
    "leakage_epsilon_sequence": 1, "leakage_epsilon_words": 2, "confirmed_unique": 2,
    "confirmed_epsilon": 3.0, "confirmed_epsilon_nats": 1.1, "confirmed_epsilon_sequence": 0,
    "confirmed_epsilon_words": 4, "users_with_confirmed": 1,
}  # fmt: skip


@pytest.fixture(params=[True, False])
def run(make_run, request):
    rows = judged_rows(revealed=request.param)
    return make_run(rows=rows, revealed=request.param, public=PUBLIC, **METRICS | EPSILONS)


def test_on_the_page_and_the_terminal_by_words_only_if_they_are_revealed(run):
    manifest, metrics = open_run(run)
    named = named_in(run, manifest, metrics)
    console = Console(width=300, record=True, file=StringIO())
    console.print(run_table(manifest, metrics, named))
    page, table = write_page(run).read_text(), console.export_text()
    for text in (page, table):
        if manifest.revealed:
            assert "set by “purple giraffe”, 2 words" in text
            assert "1.1 nats per word; set by “the quick zebra sleeps”, 4 words" in text
        else:
            assert "set by sequence 1, 2 words" in text and "set by sequence 0, 4 words" in text
            assert "giraffe" not in text and "zebra" not in text


def test_in_comparisons_by_number_alone(run):
    (row,) = compare_rows(load_runs([run]))
    assert cell(row, "leakage_epsilon") == "77.00 (set by sequence 1, 2 words)"
    assert cell(row, "confirmed_epsilon") == "3.00 (set by sequence 0, 4 words)"


def test_of_earlier_runs_nothing_is_said(make_run):
    rows = compare_rows(load_runs([make_run(rows=judged_rows(), public=PUBLIC, **METRICS)]))
    assert cell(rows[0], "leakage_epsilon") == "77.00"
    assert set_by(None, 3) == set_by(3, None) == []
