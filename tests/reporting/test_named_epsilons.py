"""The sequences that set epsilons are named wherever these stand."""

import json
from html import unescape
from io import StringIO

import pytest
from rich.console import Console

from leakscope.auditing.gating.gates import Gate
from leakscope.cli.report import _check
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import load_runs
from leakscope.reporting.comparison.compared_table import cell, compare_rows
from leakscope.reporting.facts.chance_facts import set_by
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.rows.worst_sequence import named_in
from leakscope.reporting.terminal.tables import compare_table, run_table
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


def test_in_comparisons_by_words_only_if_they_are_revealed(run, tmp_path):
    runs = load_runs([run])
    (row,) = compare_rows(runs)
    page = unescape(write_comparison(runs, tmp_path / "out").read_text())
    data = (tmp_path / "out" / "compare.json").read_text()
    console = Console(width=400, record=True, file=StringIO())
    console.print(compare_table([row]))
    assert json.loads(data)["runs"] == [row]
    revealed = open_run(run)[0].revealed
    if revealed:
        assert row["leakage_epsilon_spelled"] == "purple giraffe"
        assert row["confirmed_epsilon_spelled"] == "the quick zebra sleeps"
        told = "set by “purple giraffe”, 2 words", "set by “the quick zebra sleeps”, 4 words"
    else:
        assert row["leakage_epsilon_spelled"] is row["confirmed_epsilon_spelled"] is None
        told = "set by sequence 1, 2 words", "set by sequence 0, 4 words"
        assert not [word for word in ("giraffe", "zebra") if word in page + data]
    assert cell(row, "leakage_epsilon") == f"77.00 ({told[0]})"
    assert cell(row, "confirmed_epsilon") == f"3.00 ({told[1]})"
    assert all(each in page and each in console.export_text(clear=False) for each in told)
    assert ("contains training text" in page) is revealed


def test_gate_lines_go_by_number_alone(run, capsys):
    manifest, metrics = open_run(run)
    gates = [Gate.parse("leakage_epsilon<1"), Gate.parse("public_unique_sequences<0")]
    _check(gates, {"here": (metrics, manifest)})
    told = capsys.readouterr().err
    assert "set by sequence 1, 2 words" in told
    assert "giraffe" not in told and "zebra" not in told


def test_of_earlier_runs_nothing_is_said(make_run):
    rows = compare_rows(load_runs([make_run(rows=judged_rows(), public=PUBLIC, **METRICS)]))
    assert cell(rows[0], "leakage_epsilon") == "77.00"
    assert set_by(None, 3) == set_by(3, None) == []
